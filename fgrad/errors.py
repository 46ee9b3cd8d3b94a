"""Every exception that fgrad raises on purpose.

Each class derives from the built-in exception that fits, so that ``except TypeError`` and its kin
keep working.
"""

from __future__ import annotations


class FgradError(Exception):
    """Base of every error in this module."""


class ShapeError(FgradError, ValueError):
    """Shapes that do not fit together."""


class DTypeError(FgradError, TypeError):
    """A dtype that the operation does not accept."""


class AxisError(FgradError, ValueError, IndexError):
    """An axis that the array does not have, or one given twice."""


class IndexOutOfRangeError(FgradError, IndexError):
    """A static index outside of its axis."""


class IndexTypeError(FgradError, TypeError, IndexError):
    """Something that cannot be an index."""


class ArgumentError(FgradError, TypeError, ValueError):
    """An argument of a wrong kind or value."""


class NonArrayError(FgradError, TypeError):
    """A leaf of an argument that is not an array or a number."""


class UnsupportedArrayError(FgradError, TypeError):
    """An array of a kind that fgrad does not compute with."""


class ConcretizationTypeError(FgradError, TypeError):
    """The value of a traced array is needed, but it is unknown while tracing."""


class TracerBoolConversionError(ConcretizationTypeError):
    """A branch on the unknown value of a traced array."""


class TracerIntegerConversionError(ConcretizationTypeError):
    """A traced array used where Python needs an integer."""


class TracerArrayConversionError(ConcretizationTypeError):
    """A traced array converted to a NumPy array or a Python number."""


class NonConcreteBooleanIndexError(ConcretizationTypeError, IndexError):
    """A boolean mask of unknown value used as an index: the result would have an unknown shape."""


class DerivativeCutError(ConcretizationTypeError):
    """A conversion that would silently cut a derivative."""


class LeakedTracerError(FgradError, RuntimeError):
    """A traced array used after its transform has ended, or in another thread."""


class InPlaceError(FgradError, TypeError):
    """An assignment into an array that cannot be changed."""


class NonScalarOutputError(FgradError, TypeError):
    """``grad`` of a function whose output is not a scalar."""


class DifferentiationTypeError(FgradError, TypeError):
    """An input or output whose dtype cannot be differentiated."""


class NonDifferentiableError(FgradError, TypeError):
    """A derivative that does not exist or that an operation does not have."""


class NonLinearError(FgradError, TypeError):
    """``linear_transpose`` of a function that is not linear."""


class ArgnumsError(FgradError, ValueError, TypeError):
    """``argnums`` or a static argument that the call does not have."""


class TangentError(FgradError, TypeError, ValueError):
    """Tangents or cotangents whose structure, shape or dtype do not match their primals."""


class MappedAxisError(FgradError, ValueError):
    """``in_axes``, ``out_axes`` or mapped sizes that do not fit the arguments of ``vmap``."""


class StaticArgumentError(FgradError, TypeError, ValueError):
    """A static argument of ``jit`` that cannot be hashed."""


class TreeTypeError(FgradError, TypeError):
    """A tree node or key of a kind that cannot be handled."""


class TreeStructureError(FgradError, ValueError):
    """Trees whose structures should agree and do not."""


class JaxprTypeError(FgradError, TypeError):
    """A jaxpr that breaks a typing or scoping rule."""


class MissingRuleError(FgradError, TypeError):
    """A primitive declared without one of its rules."""


class ConfigError(FgradError, AttributeError, ValueError):
    """A configuration flag that does not exist, or a value that it does not take."""


class StaleConstantError(FgradError, RuntimeError):
    """An array that a compiled function captured was changed afterwards."""


class NanError(FgradError, FloatingPointError):
    """A NaN was made while the flag ``fgrad_debug_nans`` is on."""
