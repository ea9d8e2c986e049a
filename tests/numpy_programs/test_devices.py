"""A part of the programs on numba's simulator, and of their kernels for GPUs; `tests.numpy_programs.devices` takes all."""

from __future__ import annotations

import pytest

from tests.codegen.cuda.test_ptx import why_no_ptx
from workbench.runtime.cuda.kernels import assemble, assembler, kernel_ptx

from .all import PROGRAMS
from .devices import CAPABILITIES, check, kernels_of

# What tracing, fusion and the runtime learned last, each beside a program of every other kind.
NAMES = sorted(
    {
        *sorted(PROGRAMS)[::9], "bandit_class", "otsu_threshold", "gaussian_elimination_with_pivots", "snow_and_soil",
        "azimuthal_histogram", "mandelbrot_shrinking", "systems_one_by_one", "cheapest_seam", "kalman_filter_class",
    } - {"lattice_boltzmann", "train_two_layers", "network_with_adam", "linked_cells"}  # 10 s and more there
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_device_does_what_numpy_does(name):
    on_device, on_cpu = (check(PROGRAMS[name], PROGRAMS[name].small, device) for device in ("cuda-sim", "cpu"))
    # What the CPU takes whole a device takes whole.
    assert [reason.code for reason in on_device.fallbacks] == [reason.code for reason in on_cpu.fallbacks]


@pytest.mark.parametrize("number", range(0, len(PROGRAMS), 12))
def test_kernels_are_assembled(number):
    if why_no_ptx() or assembler() is None:
        pytest.skip(why_no_ptx() or "ptxas is not installed (package nvidia-cuda-nvcc, or the CUDA toolkit)")
    program = PROGRAMS[sorted(PROGRAMS)[number]]
    for k, kernel in enumerate(kernels_of(program, program.small)[:4]):
        capability = CAPABILITIES[(number + k) % 3]
        cubin, _ = assemble(kernel_ptx(kernel, capability)[0], capability)
        assert cubin.startswith(b"\x7fELF")
