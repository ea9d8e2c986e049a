"""What a loop replaces without reading it is not computed: the loop is given memory."""

from __future__ import annotations

from dataclasses import replace

from ..ir import REGISTRY, Equation, Jaxpr, Var


def drop_unread(jaxpr: Jaxpr) -> Jaxpr:
    """Give memory to loops that write all elements of an operand and read none.

    b: f64[9] = broadcast_in_dim[shape=(9,)] 0.0
    c: f64[9] = loop[program=<for i in range(len(b)):>] b a
      ->
    b: f64[9] = empty[shape=(9,)]
    c: f64[9] = loop[program=<for i in range(len(b)):>] b a
    """
    made: set[Var] = set()
    eqns: list[Equation] = []
    for eqn in jaxpr.eqns:
        unread = eqn.params["program"].overwritten if eqn.primitive.name == "loop" else ()
        operands = list(eqn.invars)
        for k in unread:
            atom = operands[k]
            if isinstance(atom, Var) and atom in made:  # no argument of the program's
                memory = operands[k] = Var(replace(atom.aval, weak_type=False), atom.hint)
                params = {"shape": atom.aval.shape, "dtype": atom.aval.dtype}
                eqns.append(Equation(REGISTRY["empty"], (), (memory,), params, eqn.origin))
        made.update(eqn.outvars)
        eqns.append(replace(eqn, invars=tuple(operands)))
    return replace(jaxpr, eqns=tuple(eqns))
