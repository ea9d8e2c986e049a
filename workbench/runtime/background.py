"""Background: one thread that compiles while the program goes on in NumPy.

Its priority is the program's own: a thread that waits for a core with Python's lock in its hands would hold up all.
It begins a task when the call that asked for it has its result, or after a moment, because two threads that both run
Python slow each other down. Between passes and kernels it comes to a `checkpoint`: a process that forks or ends waits
until then, so that no lock stays behind in a child and no compiler is torn off its feet.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from .log import logger

HEAD_START_S = 0.02  # so long the call that asked for a task may run by itself
EXIT_S = 30.0  # a process that ends waits at most so long for the pass or kernel that is being worked on


class _StoppedError(BaseException):
    """The process ends."""


class Task:
    """Something that the background does once. `result` and `error` (or neither) are there when `is_done`."""

    def __init__(self, work: Callable[[], Any]):
        self._work = work
        self._context = copy_context()  # of the caller: its settings hold for the work
        self._finished = threading.Event()
        self._then: list[Callable[[], object]] = []
        self.may_begin = threading.Event()
        self.result: Any = None
        self.error: BaseException | None = None

    @property
    def is_done(self) -> bool:
        if not self._finished.is_set():
            _worker.wake()  # in a child, where it does not run yet
        return self._finished.is_set()

    def wait(self) -> None:
        """Wait until it is done. Ctrl-C ends the waiting, not the work."""
        self.may_begin.set()
        _worker.wake()
        if _worker.stops and not self._finished.is_set():
            self.run()
        self._finished.wait()

    def then(self, call: Callable[[], object]) -> None:
        """Call this in the background when it is done, or at once if it is. Not in the caller's context: what it shows
        then belongs to the cell that runs at that time, since nobody may listen any more to the one that asked."""
        with _worker.lock:
            if not self._finished.is_set():
                self._then.append(call)
                return
        call()

    def run(self) -> None:
        try:
            self.result = self._context.run(self._work)
        except _StoppedError:
            raise
        except BaseException as error:  # noqa: BLE001  # whoever looks at the task decides
            self.error = error
        with _worker.lock:
            self._finished.set()
            calls, self._then = self._then, []
        for call in calls:
            try:
                call()
            except Exception as error:  # noqa: BLE001  # a display that is gone must not end the thread
                logger.warning("what should have followed a compilation failed: %s", error)


class _Worker:
    """The thread and its tasks. at_work: held by the thread except between tasks and at checkpoints."""

    def __init__(self, tasks: tuple[Task, ...] = ()) -> None:
        self.lock = threading.RLock()
        self.tasks: deque[Task] = deque(tasks)  # the first is the one being worked on
        self.new_task = threading.Condition(self.lock)
        self.thread: threading.Thread | None = None
        self.at_work = threading.Lock()
        self.may_go_on = threading.Event()  # not set: the process wants to fork or to end
        self.may_go_on.set()
        self.stops = False

    def submit(self, task: Task) -> None:
        with self.lock:
            self.tasks.append(task)
            self.new_task.notify()
        self.wake()

    def wake(self) -> None:
        with self.lock:
            if self.tasks and self.thread is None and not self.stops:
                self.thread = threading.Thread(target=self._loop, name="workbench-compiler", daemon=True)
                self.thread.start()

    def _loop(self) -> None:
        while not self.stops:
            with self.lock:
                while not self.tasks:
                    self.new_task.wait()
                task = self.tasks[0]
            task.may_begin.wait(HEAD_START_S)
            try:
                with self.at_work:
                    self.checkpoint()
                    task.run()
            except _StoppedError:
                return
            with self.lock:
                self.tasks.popleft()

    def checkpoint(self) -> None:
        if self.stops:
            raise _StoppedError
        if not self.may_go_on.is_set():
            self.at_work.release()
            try:
                self.may_go_on.wait()
            finally:
                self.at_work.acquire()

    # ---- forks and the end ----

    def pause(self) -> None:
        if threading.current_thread() is not self.thread:
            self.may_go_on.clear()
            self.at_work.acquire()
            self.lock.acquire()

    def go_on(self) -> None:
        if threading.current_thread() is not self.thread:
            self.lock.release()
            self.at_work.release()
            self.may_go_on.set()

    def stop(self) -> None:
        self.stops = True
        thread = self.thread
        if thread is not None and self.tasks:
            thread.join(EXIT_S)


_worker = _Worker()


def submit(work: Callable[[], Any]) -> Task:
    """Do `work` in the background, one after another."""
    task = Task(work)
    _worker.submit(task)
    return task


def checkpoint() -> None:
    """A point between two steps of a compilation, at which no lock is held."""
    if threading.current_thread() is _worker.thread:
        _worker.checkpoint()


def _after_fork_in_child() -> None:
    """Threads do not survive a fork. What was not finished begins anew, when somebody asks for it."""
    global _worker
    _worker = _Worker(tuple(task for task in _worker.tasks if not task._finished.is_set()))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _worker.pause(),
        after_in_parent=lambda: _worker.go_on(),
        after_in_child=_after_fork_in_child,
    )
atexit.register(lambda: _worker.stop())
