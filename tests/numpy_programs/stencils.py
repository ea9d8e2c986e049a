"""Stencils: heat, waves, weather, and everything that reads its neighbours."""

from __future__ import annotations

import numpy as np

from .registry import program


def _square(rng, n):
    return 8, rng.random((n, n)), rng.random((n, n))


@program(_square, 16, 1200)
def relaxation_2d(steps, A, B):
    for _ in range(1, steps):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])


@program(lambda rng, n: (50, rng.random(n), rng.random(n)), 32, 400_000)
def relaxation_1d(steps, A, B):
    for _ in range(1, steps):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])


@program(lambda rng, n: (6, rng.random((n, n, n)), rng.random((n, n, n))), 9, 100)
def heat_in_a_block(steps, A, B):
    def step(src, dst):
        dst[1:-1, 1:-1, 1:-1] = (
            0.125 * (src[2:, 1:-1, 1:-1] - 2.0 * src[1:-1, 1:-1, 1:-1] + src[:-2, 1:-1, 1:-1])
            + 0.125 * (src[1:-1, 2:, 1:-1] - 2.0 * src[1:-1, 1:-1, 1:-1] + src[1:-1, :-2, 1:-1])
            + 0.125 * (src[1:-1, 1:-1, 2:] - 2.0 * src[1:-1, 1:-1, 1:-1] + src[1:-1, 1:-1, :-2])
            + src[1:-1, 1:-1, 1:-1]
        )

    for _ in range(steps):
        step(A, B)
        step(B, A)


@program(lambda rng, n: (10, rng.random((n, n)), rng.random((n, n)), rng.random((n, n)), rng.random(10)), 16, 800)
def maxwell_2d(steps, ex, ey, hz, source):
    for t in range(steps):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


@program(lambda rng, n: (4, rng.random((n, n))), 9, 60, rtol=1e-9)
def gauss_seidel_rows(sweeps, A):
    n = A.shape[0]
    for _ in range(sweeps):
        for i in range(1, n - 1):
            A[i, 1:-1] += (
                A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:] + A[i + 1, :-2] + A[i + 1, 1:-1] + A[i + 1, 2:]
            )
            for j in range(1, n - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0


def _weather(rng, n):
    field = rng.random((n + 4, n + 4, 40))
    return field, np.empty((n, n, 40)), rng.random((n, n, 40))


@program(_weather, 8, 160)
def horizontal_diffusion(in_field, out_field, coeff):
    I, J, K = out_field.shape
    lap = 4.0 * in_field[1 : I + 3, 1 : J + 3, :] - (
        in_field[2 : I + 4, 1 : J + 3, :] + in_field[0 : I + 2, 1 : J + 3, :]
        + in_field[1 : I + 3, 2 : J + 4, :] + in_field[1 : I + 3, 0 : J + 2, :]
    )  # fmt: skip
    res = lap[1:, 1 : J + 1, :] - lap[:-1, 1 : J + 1, :]
    flx = np.where((res * (in_field[2 : I + 3, 2 : J + 2, :] - in_field[1 : I + 2, 2 : J + 2, :])) > 0, 0, res)
    res = lap[1 : I + 1, 1:, :] - lap[1 : I + 1, :-1, :]
    fly = np.where((res * (in_field[2 : I + 2, 2 : J + 3, :] - in_field[2 : I + 2, 1 : J + 2, :])) > 0, 0, res)
    out_field[:, :, :] = in_field[2 : I + 2, 2 : J + 2, :] - coeff * (
        flx[1:, :, :] - flx[:-1, :, :] + fly[:, 1:, :] - fly[:, :-1, :]
    )


def _advection(rng, n):
    shape = (n, n, 30)
    make = lambda: rng.random(shape)  # noqa: E731
    return make(), make(), rng.random((n + 1, n, 30)), make(), make()


@program(_advection, 6, 100)
def vertical_advection(utens_stage, u_stage, wcon, u_pos, utens):
    I, J, K = utens_stage.shape
    dtr_stage = 3.0 / 20.0
    ccol = np.ndarray((I, J, K), dtype=utens_stage.dtype)
    dcol = np.ndarray((I, J, K), dtype=utens_stage.dtype)
    data_col = np.ndarray((I, J), dtype=utens_stage.dtype)

    for k in range(1):
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        cs = gcv * 0.1
        ccol[:, :, k] = gcv * 0.9
        bcol = dtr_stage - ccol[:, :, k]
        correction_term = -cs * (u_stage[:, :, k + 1] - u_stage[:, :, k])
        dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction_term
        divided = 1.0 / bcol
        ccol[:, :, k] = ccol[:, :, k] * divided
        dcol[:, :, k] = dcol[:, :, k] * divided
    for k in range(1, K - 1):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        as_ = gav * 0.1
        cs = gcv * 0.1
        acol = gav * 0.9
        ccol[:, :, k] = gcv * 0.9
        bcol = dtr_stage - acol - ccol[:, :, k]
        correction_term = -as_ * (u_stage[:, :, k - 1] - u_stage[:, :, k]) - cs * (
            u_stage[:, :, k + 1] - u_stage[:, :, k]
        )
        dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction_term
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        ccol[:, :, k] = ccol[:, :, k] * divided
        dcol[:, :, k] = (dcol[:, :, k] - dcol[:, :, k - 1] * acol) * divided
    for k in range(K - 1, K):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        acol = gav * 0.9
        bcol = dtr_stage - acol
        dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k]
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        dcol[:, :, k] = (dcol[:, :, k] - dcol[:, :, k - 1] * acol) * divided
    for k in range(K - 1, K - 2, -1):
        datacol = dcol[:, :, k]
        data_col[:] = datacol
        utens_stage[:, :, k] = dtr_stage * (datacol - u_pos[:, :, k])
    for k in range(K - 2, -1, -1):
        datacol = dcol[:, :, k] - ccol[:, :, k] * data_col[:, :]
        data_col[:] = datacol
        utens_stage[:, :, k] = dtr_stage * (datacol - u_pos[:, :, k])


@program(lambda rng, n: (rng.random((n, n)) < 0.35, 12), 24, 600)
def game_of_life(board, generations):
    world = board.astype(np.uint8)
    for _ in range(generations):
        padded = np.pad(world, 1, mode="wrap")
        neighbours = np.zeros_like(world)
        for dy in (0, 1, 2):
            for dx in (0, 1, 2):
                if (dy, dx) != (1, 1):
                    neighbours += padded[dy : dy + world.shape[0], dx : dx + world.shape[1]]
        world[:] = ((neighbours == 3) | ((world == 1) & (neighbours == 2))).astype(np.uint8)
    return world, world.sum()


@program(lambda rng, n: (rng.integers(0, 4, (n, n)), 20), 12, 300)
def sandpile(grid, steps):
    grid = grid * 3
    for _ in range(steps):
        topple = grid >= 4
        if not np.any(topple):
            break
        grid[topple] -= 4
        grid[1:, :] += topple[:-1, :]
        grid[:-1, :] += topple[1:, :]
        grid[:, 1:] += topple[:, :-1]
        grid[:, :-1] += topple[:, 1:]
    return grid


@program(lambda rng, n: (n, 20, 0.16, 0.08, 0.035, 0.065), 24, 300)
def reaction_diffusion(n, steps, Du, Dv, F, k):
    U = np.ones((n, n), dtype=np.float32)
    V = np.zeros((n, n), dtype=np.float32)
    r = 4
    U[n // 2 - r : n // 2 + r, n // 2 - r : n // 2 + r] = 0.50
    V[n // 2 - r : n // 2 + r, n // 2 - r : n // 2 + r] = 0.25
    u, v = U[1:-1, 1:-1], V[1:-1, 1:-1]
    for _ in range(steps):
        Lu = U[0:-2, 1:-1] + U[1:-1, 0:-2] - 4 * U[1:-1, 1:-1] + U[1:-1, 2:] + U[2:, 1:-1]
        Lv = V[0:-2, 1:-1] + V[1:-1, 0:-2] - 4 * V[1:-1, 1:-1] + V[1:-1, 2:] + V[2:, 1:-1]
        uvv = u * v * v
        u += Du * Lu - uvv + F * (1 - u)
        v += Dv * Lv + uvv - (F + k) * v
        U[0, :], U[-1, :], U[:, 0], U[:, -1] = U[-2, :], U[1, :], U[:, -2], U[:, 1]
        V[0, :], V[-1, :], V[:, 0], V[:, -1] = V[-2, :], V[1, :], V[:, -2], V[:, 1]
    return U, V
