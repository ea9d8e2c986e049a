"""The magics: `%%jit` compiles a cell, `%workbench` explains and configures."""

from __future__ import annotations

from collections import deque
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from ..report import CompileReport
from . import commands
from .cells import CellOptions, CellRun, run_cell
from .display import show_report, show_value
from .tracebacks import show_as_users_own

KEPT_REPORTS = 50


@magics_class
class WorkbenchMagics(Magics):
    """reports: of the latest cells, the newest last."""

    def __init__(self, shell: Any):
        super().__init__(shell)
        self.reports: deque[CompileReport] = deque(maxlen=KEPT_REPORTS)
        self._numbers: dict[str, int] = {}  # of a cell's text: its first run

    @magic_arguments()
    @argument("--out", "-o", metavar="NAMES", action="append", help="keep only these names, comma-separated")
    @argument("--strict", action="store_true", help="raise an error where the cell would fall back to NumPy")
    @argument("--verify", action="store_true", help="run NumPy too; where the results differ, keep NumPy's")
    @argument(
        "--compare",
        dest="compare",
        action="store_true",
        default=None,
        help="time NumPy at every run, however long it takes",
    )
    @argument("--no-compare", dest="compare", action="store_false", default=None, help="do not time NumPy")
    @argument("--device", metavar="DEVICE", help="where the kernels run: cpu, numpy, cuda:0 ...")
    @argument("--wait", action="store_true", help="wait for the kernels, where config.tiers would run NumPy first")
    @argument("--fast", action="store_true", help="contract and reorder arithmetic: last bits may differ from NumPy's")
    @argument("--report", "-r", metavar="NAME", help="store the report under this name")
    @argument("--show", metavar="VIEW", help="print a view as text: source, ir, graph, kernels, timings, why")
    @argument("--quiet", "-q", action="store_true", help="show no report (`%%workbench report` does, later)")
    @no_var_expand
    @cell_magic
    def jit(self, line: str, cell: str) -> None:
        """Compile the NumPy code of this cell, run it, and show what the compiler did.

        The cell reads its inputs from the namespace and leaves its results there as ordinary arrays; names that begin
        with an underscore are temporaries. What cannot be compiled runs in NumPy, and the report says why.
        """
        __tracebackhide__ = True
        args = parse_argstring(self.jit, line)
        shell: Any = self.shell
        body = shell.transform_cell(cell)  # line magics and shell commands
        # The magic's own line counts as line 1, as it does in the editor's margin.
        shown = f"%%jit {line}".rstrip() + "\n" + body
        number = shell.displayhook.prompt_count  # IPython 9 counts up before it runs the cell, 8 afterwards
        filename = self._filename(shown, number)
        options = CellOptions(
            _names(args.out), args.strict, args.verify, args.compare, args.device, args.wait, args.fast
        )
        label = f"In[{number}]"
        try:
            run = run_cell(
                "\n" + body, shell.user_ns, label=label, filename=filename, options=options, flags=shell.compile.flags
            )
        except BaseException as error:
            show_as_users_own(shell, error, filename)
            raise
        run.report.cell.source = shown
        self._show(run, body, args)

    def _filename(self, shown: str, number: int) -> str:
        """The name of a cell's file. In a terminal it holds the number of the run: a cell that runs again keeps the
        first one, by which its programs are known, and shows the new one in tracebacks."""
        compiler: Any = self.shell.compile  # type: ignore[union-attr]  # magics have a shell
        filename = compiler.cache(shown, self._numbers.setdefault(shown, number), raw_code=shown)
        shown_numbers = getattr(compiler, "_filename_map", None)
        if isinstance(shown_numbers, dict):
            shown_numbers[filename] = number
        return filename

    def _show(self, run: CellRun, body: str, args: Any) -> None:
        shell: Any = self.shell
        self.reports.append(run.report)
        if args.report:
            shell.user_ns[args.report] = run.report
        if args.verify:
            run.finish()  # NumPy's value may have to replace the kernel's before anything is shown
        show_value(shell, run.last_value, body)
        show_report(shell, run, quiet=args.quiet)
        if args.show:
            print(commands.view(run.report, args.show))

    @line_magic
    def workbench(self, line: str) -> Any:
        """`%workbench explain CODE`, `report [N]`, `cache [clear]`, `config [NAME=VALUE]`, or nothing for help."""
        command, _, rest = line.strip().partition(" ")
        match command:
            case "" | "help":
                print(commands.HELP)
            case "explain":
                print(commands.explain(rest.strip()))
            case "report":
                return self._report(rest.strip())
            case "cache":
                print(commands.cache(rest.strip()))
            case "config":
                print(commands.config(rest.strip()))
            case _:
                raise UsageError(f"%workbench {command}: no such command\n{commands.HELP}")
        return None

    def _report(self, which: str) -> CompileReport:
        if not self.reports:
            raise UsageError("no cell has been compiled yet")
        if not which:
            return self.reports[-1]
        label = which if which.startswith("In[") else f"In[{which}]"
        found = next((r for r in reversed(self.reports) if r.cell.label == label), None)
        if found is None:
            raise UsageError(f"no report of {label}; there are {', '.join(r.cell.label for r in self.reports)}")
        return found


def _names(given: list[str] | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    return tuple(name.strip() for part in given for name in part.split(",") if name.strip())
