"""What finds ``jax`` and its modules in fgrad while they are imported.

A module of JAX is a view of up to two modules: what stands in its place in ``fgrad.compat.jax``, with names
that only programs for JAX look for, and the module of fgrad that has the same name. Views keep what a program
may set on them to themselves, so that fgrad is as before when they are gone.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from fgrad.compat.version import JAX_VERSION

_ROOTS = ("jax", "jaxlib")
_OVERLAY = "fgrad.compat."

#: The modules of JAX that fgrad has under the same name.
SHARED = frozenset(
    """
    ad_checkpoint checkpoint_policies core custom_batching custom_derivatives debug dlpack dtypes errors
    example_libraries example_libraries.optimizers example_libraries.stax
    experimental experimental.checkify experimental.jet experimental.ode experimental.sparse
    experimental.sparse.linalg export
    flatten_util image lax lax.linalg monitoring nn nn.initializers numpy numpy.fft numpy.linalg ops
    profiler random scipy scipy.cluster scipy.cluster.vq scipy.fft scipy.integrate scipy.interpolate
    scipy.linalg scipy.ndimage scipy.optimize scipy.signal scipy.sparse scipy.sparse.linalg
    scipy.spatial scipy.spatial.transform scipy.special scipy.stats scipy.stats.bernoulli
    scipy.stats.beta scipy.stats.betabinom scipy.stats.binom scipy.stats.cauchy scipy.stats.chi2
    scipy.stats.dirichlet scipy.stats.expon scipy.stats.gamma scipy.stats.gennorm scipy.stats.geom
    scipy.stats.gumbel_l scipy.stats.gumbel_r scipy.stats.laplace scipy.stats.logistic
    scipy.stats.multinomial scipy.stats.multivariate_normal scipy.stats.nbinom scipy.stats.norm
    scipy.stats.pareto scipy.stats.poisson scipy.stats.t scipy.stats.truncnorm scipy.stats.uniform
    scipy.stats.vonmises scipy.stats.wrapcauchy
    sharding stages test_util tools tools.colab_tpu tree tree_util typing
    """.split()
)


def sources(name: str) -> list[str]:
    """The modules of fgrad that stand for a module of JAX, what is looked at first at the front."""
    root, _, rest = name.partition(".")
    found = [_OVERLAY + name] if _is_module(_OVERLAY + name) else []
    if root == "jax" and not rest:
        found.append("fgrad")
    elif root == "jax" and rest in SHARED and _is_module("fgrad." + rest):
        found.append("fgrad." + rest)
    return found


@functools.cache
def _is_module(name: str) -> bool:
    if name in sys.modules:
        return True
    try:
        found = find_spec(name)
    except ModuleNotFoundError:  # there is no package above it
        found = None
    # What is above it may have put a module there: `fgrad.scipy.stats` and `fgrad.experimental.sparse` do.
    return found is not None or name in sys.modules


class View(ModuleType):
    """A module of JAX: the names of modules of fgrad, those of the first before those of the next."""

    _fgrad_modules: list[Any]

    def __getattr__(self, name: str) -> Any:
        full = f"{self.__name__}.{name}"
        if not name.startswith("__") and sources(full):
            return importlib.import_module(full)
        for module in self.__dict__.get("_fgrad_modules", ()):
            try:
                return getattr(module, name)
            except AttributeError:
                continue
        raise AttributeError(
            f"module {self.__name__!r} has no attribute {name!r} (it is fgrad under the name of JAX)"
        )

    def __dir__(self) -> list[str]:
        names = set(self.__dict__)
        for module in self._fgrad_modules:
            names.update(name for name in dir(module) if not name.startswith("_"))
        return sorted(names)


def fill(view: View, modules: list[Any]) -> None:
    """Put the names of modules into a view; modules among them are found when they are asked for."""
    view._fgrad_modules = modules
    for module in reversed(modules):
        of_overlay = getattr(module, "__name__", "").startswith(_OVERLAY)
        for name in vars(module) if isinstance(module, ModuleType) else dir(module):
            value = getattr(module, name)
            if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == "fgrad":
                continue
            public = not name.startswith("_") or name in ("__version__", "__version_info__")
            if public or (of_overlay and not name.startswith("__")):
                view.__dict__[name] = value
    view.__doc__ = modules[-1].__doc__


class _Loader(Loader):
    def __init__(self, modules: list[str]) -> None:
        self.modules = modules

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return View(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        assert isinstance(module, View)
        fill(module, [importlib.import_module(name) for name in self.modules])


class _Installed(Distribution):
    """What ``importlib.metadata`` says of JAX: packages ask for its version."""

    def __init__(self, name: str) -> None:
        self._name = name

    def read_text(self, filename: str) -> str | None:
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: {self._name}\nVersion: {JAX_VERSION}\n"

    def locate_file(self, path: Any) -> Any:
        return path


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in _ROOTS:
            return None
        found = sources(fullname)
        if not found:
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: jax is fgrad in this process, and fgrad has nothing "
                "in its place",
                name=fullname,
            )
        # Any of them may have modules below it: what these are, `sources` knows.
        return ModuleSpec(fullname, _Loader(found), origin="fgrad", is_package=True)

    def find_distributions(self, context: Any = None) -> list[Distribution]:
        name = (context or DistributionFinder.Context()).name
        return [_Installed(root) for root in _ROOTS if name == root]


_FINDER = _Finder()


def _modules() -> list[str]:
    return sorted(name for name in sys.modules if name.partition(".")[0] in _ROOTS)


def foreign_modules() -> list[str]:
    """The modules of JAX itself that have been imported."""
    return [name for name in _modules() if not isinstance(sys.modules[name], View)]


def is_installed() -> bool:
    """Whether ``import jax`` gives fgrad."""
    return _FINDER in sys.meta_path


def install() -> None:
    """Look here first."""
    sys.meta_path.insert(0, _FINDER)
    importlib.invalidate_caches()


def uninstall() -> None:
    """Look here no more, and forget the modules that were found here."""
    sys.meta_path.remove(_FINDER)
    for name in _modules():
        del sys.modules[name]
