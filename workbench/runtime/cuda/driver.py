"""The NVIDIA driver, asked directly: is it there, how new is it, which devices does it see.

Asking needs neither numba-cuda nor CuPy, and no CUDA context is made.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from dataclasses import dataclass
from functools import cache

from ...errors import DeviceError

# The packages of the `cuda` extra, by the names they are imported as.
PACKAGES = {"numba_cuda": "numba-cuda", "cupy": "CuPy"}
# CUDA 12.0, the least that numba-cuda's and CuPy's packages for CUDA 12 run on.
LEAST_DRIVER = 12000
NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE
LIST_PACKAGES = "python -m pip list | grep -i -E 'cupy|numba'"
INSTALL = 'pip install "jit-workbench[cuda]"'


@dataclass(frozen=True, slots=True)
class Driver:
    """version: 13000 is CUDA 13.0, 0 where no driver is installed; n_devices; error: of its start, 0 if it started."""

    version: int = 0
    n_devices: int = 0
    error: int = 0


_usable: set[int] = set()  # GPUs that were found to be: calls ask each time


@cache
def driver() -> Driver:
    """What the driver says, asked once."""
    try:
        library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return Driver()
    version, count = ctypes.c_int(), ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(version))
    error = library.cuInit(0)
    if error == 0:
        library.cuDeviceGetCount(ctypes.byref(count))
    return Driver(version.value, count.value, error)


def missing_packages() -> list[str]:
    return [title for name, title in PACKAGES.items() if importlib.util.find_spec(name) is None]


def why_not(ordinal: int = 0, *, missing: list[str] | None = None, found: Driver | None = None) -> DeviceError | None:
    """Why the GPU number `ordinal` cannot be used, with the command that checks it; None if it can. missing, found: by
    default those of this machine."""
    if missing is None and found is None:
        if ordinal in _usable:
            return None
        error = why_not(ordinal, missing=missing_packages(), found=driver())
        if error is None:
            _usable.add(ordinal)
        return error
    missing = missing_packages() if missing is None else missing
    found = driver() if found is None else found
    if missing:
        packages = " and ".join(missing)
        verb = "is" if len(missing) == 1 else "are"
        return _error(
            "WB601", f"{packages} {verb} not installed", "python -m pip list | grep -i -E 'cupy|numba'", INSTALL
        )
    if not found.version:
        return _error(
            "WB602", "no NVIDIA driver is installed (libcuda was not found)", "nvidia-smi",
            "install NVIDIA's driver, or run on the CPU: device='cpu'",
        )  # fmt: skip
    if found.version < LEAST_DRIVER:
        have, need = (f"{v // 1000}.{v % 1000 // 10}" for v in (found.version, LEAST_DRIVER))
        return _error(
            "WB603", f"the NVIDIA driver is too old: it serves CUDA {have}, and {need} is needed",
            "nvidia-smi --query-gpu=driver_version --format=csv", "update the driver",
        )  # fmt: skip
    if found.error == NO_DEVICE or (found.error == 0 and found.n_devices == 0):
        return _error(
            "WB604", "the NVIDIA driver sees no GPU", "nvidia-smi -L",
            "check CUDA_VISIBLE_DEVICES, or run on the CPU: device='cpu'",
        )  # fmt: skip
    if found.error:
        return _error(
            "WB605",
            f"the NVIDIA driver does not start: error {found.error}",
            "nvidia-smi",
            "restart the machine's driver",
        )
    if ordinal >= found.n_devices:
        last = found.n_devices - 1
        names = "cuda:0" if last == 0 else f"cuda:0 to cuda:{last}"
        return _error("WB604", f"there is no cuda:{ordinal}; this machine has {names}", "nvidia-smi -L", "use cuda:0")
    return None


def _error(code: str, what: str, check: str, fix: str) -> DeviceError:
    text = f"{code}  device='cuda': {what}.\n   Check  {check}\n   Fix    {fix}\n   DeviceError {code}: {what}"
    return DeviceError(text, code=code, fixes=(fix,))
