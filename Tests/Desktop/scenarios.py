"""All scenarios by name; each knows its programs and is called with a run and one of them."""

SCENARIOS = {}


def scenario(name, programs):
    """Registers a function of a run and a program's name."""
    def register(function):
        function.programs = list(programs)
        SCENARIOS[name] = function
        return function
    return register


import opening  # noqa: E402,F401
import copying  # noqa: E402,F401
import moving  # noqa: E402,F401
import viewing  # noqa: E402,F401
import places  # noqa: E402,F401
import plain  # noqa: E402,F401
