"""Programs whose state is held by objects: simulations, filters, networks and optimizers as classes."""

from __future__ import annotations

import numpy as np

from .registry import program


class HeatPlate:
    def __init__(self, n):
        self.dx = 1.0 / (n - 1)
        self.dt = 0.2 * self.dx**2
        self.t = 0.0
        self.n_steps = 0
        self.u = np.zeros((n, n))
        self.u[n // 3 : 2 * n // 3, n // 3 : 2 * n // 3] = 1.0

    def step(self):
        u = self.u
        laplacian = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        self.u[1:-1, 1:-1] += self.dt / self.dx**2 * laplacian
        self.t += self.dt
        self.n_steps += 1


@program(lambda rng, n: (HeatPlate(n),), 12, 200)
def heat_plate(plate):
    for _ in range(100):
        plate.step()
    return plate.t, plate.u.mean()


class Wave:
    def __init__(self, n):
        x = np.linspace(0, 1, n)
        self.before = np.exp(-200 * (x - 0.3) ** 2)
        self.now = self.before.copy()
        self.highest = []

    def step(self):
        new = np.zeros_like(self.now)
        new[1:-1] = 2 * self.now[1:-1] - self.before[1:-1]
        new[1:-1] += 0.25 * (self.now[2:] - 2 * self.now[1:-1] + self.now[:-2])
        self.before, self.now = self.now, new

    def run(self, n_steps):
        for i in range(n_steps):
            self.step()
            if i % 20 == 0:
                self.highest.append(np.abs(self.now).max())
        return self.highest[-1]


@program(lambda rng, n: (Wave(n),), 30, 5000)
def wave_with_history(wave):
    return wave.run(200)


class LeakyNeurons:
    def __init__(self, n):
        self.v = np.full(n, -65.0)
        self.refractory = np.zeros(n)
        self.counts = np.zeros(n, dtype=int)

    def update(self, current, dt=0.1):
        ready = self.refractory <= 0
        self.v = np.where(ready, self.v + dt * (-(self.v + 65) + current) / 10.0, self.v)
        spikes = self.v > -50
        self.v = np.where(spikes, -65.0, self.v)
        self.refractory = np.where(spikes, 2.0, self.refractory - dt)
        self.counts += spikes
        return spikes


@program(lambda rng, n: (LeakyNeurons(n), rng.uniform(15, 30, n)), 10, 2000)
def leaky_neurons(neurons, current):
    total = 0
    for i in range(300):
        total += neurons.update(current * (1 + 0.1 * np.sin(i * 0.05))).sum()
    return total


class KalmanFilter:
    def __init__(self):
        self.x, self.P = np.zeros(4), np.eye(4)
        self.F, self.H = np.eye(4) + 0.1 * np.eye(4, k=2), np.eye(2, 4)
        self.Q, self.R = 0.01 * np.eye(4), 0.1 * np.eye(2)

    def predict(self):
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q

    def update(self, z):
        S = self.H @ self.P @ self.H.T + self.R
        K = self.P @ self.H.T @ np.linalg.inv(S)
        self.x = self.x + K @ (z - self.H @ self.x)
        self.P = (np.eye(4) - K @ self.H) @ self.P


@program(lambda rng, n: (KalmanFilter(), rng.standard_normal((n, 2)).cumsum(axis=0)), 10, 500)
def kalman_filter_class(tracker, measurements):
    path = []
    for z in measurements:
        tracker.predict()
        tracker.update(z)
        path.append(tracker.x.copy())
    return np.array(path)


class LSTM:
    def __init__(self, rng, n, m):
        self.W = {gate: rng.standard_normal((n, n + m)) * 0.1 for gate in ("input", "forget", "output", "cell")}
        self.b = {gate: np.zeros(n) for gate in self.W}
        self.h, self.c = np.zeros(n), np.zeros(n)

    def gate(self, name, z):
        return 1 / (1 + np.exp(-(self.W[name] @ z + self.b[name])))

    def step(self, x):
        z = np.concatenate([self.h, x])
        new = np.tanh(self.W["cell"] @ z + self.b["cell"])
        self.c = self.gate("forget", z) * self.c + self.gate("input", z) * new
        self.h = self.gate("output", z) * np.tanh(self.c)
        return self.h


@program(lambda rng, n: (LSTM(rng, 32, 16), rng.standard_normal((n, 16))), 8, 300, rtol=1e-8)
def lstm_class(cell, inputs):
    outputs = []
    for x in inputs:
        outputs.append(cell.step(x))
    return np.array(outputs)


class Adam:
    def __init__(self, rate):
        self.rate, self.k = rate, 0
        self.m, self.v = {}, {}

    def update(self, parameters, gradients):
        self.k += 1
        for name, g in gradients.items():
            if name not in self.m:
                self.m[name], self.v[name] = np.zeros_like(g), np.zeros_like(g)
            self.m[name] = 0.9 * self.m[name] + 0.1 * g
            self.v[name] = 0.999 * self.v[name] + 0.001 * g**2
            m = self.m[name] / (1 - 0.9**self.k)
            v = self.v[name] / (1 - 0.999**self.k)
            parameters[name] = parameters[name] - self.rate * m / (np.sqrt(v) + 1e-8)


def two_layers(rng, n):
    parameters = {
        "W1": rng.standard_normal((8, 16)) * 0.3,
        "b1": np.zeros(16),
        "W2": rng.standard_normal((16, 1)) * 0.3,
    }
    X = rng.standard_normal((n, 8))
    return parameters, Adam(0.01), X, np.sin(X.sum(axis=1, keepdims=True))


@program(two_layers, 20, 400, rtol=1e-6)
def network_with_adam(parameters, optimizer, X, y):
    history = {"loss": [], "norm": []}
    for _ in range(100):
        hidden = np.tanh(X @ parameters["W1"] + parameters["b1"])
        error = hidden @ parameters["W2"] - y
        back = error @ parameters["W2"].T * (1 - hidden**2) / len(X)
        gradients = {"W1": X.T @ back, "b1": back.sum(axis=0), "W2": hidden.T @ error / len(X)}
        optimizer.update(parameters, gradients)
        history["loss"].append((error**2).mean())
        history["norm"].append(float(np.abs(parameters["W1"]).sum()))
    return history["loss"], history["norm"][-1]


class Bandit:
    def __init__(self, k):
        self.values, self.counts, self.t = np.zeros(k), np.zeros(k, int), 0

    def choose(self):
        self.t += 1
        return int(np.argmax(self.values + np.sqrt(2 * np.log(self.t) / (self.counts + 1e-9))))

    def learn(self, arm, reward):
        self.counts[arm] += 1
        self.values[arm] += (reward - self.values[arm]) / self.counts[arm]


@program(lambda rng, n: (Bandit(10), rng.random((n, 10))), 30, 1000)
def bandit_class(bandit, rewards):
    total = 0.0
    for t in range(len(rewards)):
        arm = bandit.choose()
        bandit.learn(arm, rewards[t, arm])
        total += rewards[t, arm]
    return total


class Swarm:
    def __init__(self, rng, n):
        self.x, self.v = rng.uniform(-5, 5, (n, 4)), np.zeros((n, 4))
        self.best, self.values = self.x.copy(), np.full(n, np.inf)
        self.leader, self.record = self.x[0].copy(), np.inf

    def move(self, r):
        found = (self.x**2).sum(axis=1)
        better = found < self.values
        self.best[better] = self.x[better]
        self.values[better] = found[better]
        k = np.argmin(self.values)
        if self.values[k] < self.record:
            self.record = self.values[k]
            self.leader = self.best[k].copy()
        self.v = 0.6 * self.v + r * (self.best - self.x) + r * (self.leader - self.x)
        self.x = self.x + self.v


@program(lambda rng, n: (Swarm(rng, n), rng.random((60, n, 4))), 10, 200, rtol=1e-4)
def swarm_class(swarm, draws):
    for r in draws:
        swarm.move(r)
    return swarm.record
