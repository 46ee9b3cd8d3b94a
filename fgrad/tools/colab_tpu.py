"""The switch to the accelerator of a hosted notebook: there is none here."""

from __future__ import annotations

from fgrad.errors import ArgumentError
from fgrad.source_info import boundary

__all__ = ["setup_tpu"]


@boundary
def setup_tpu(tpu_driver_version: str | None = None) -> None:
    """Refuse: fgrad computes with NumPy.

    Parameters
    ----------
    tpu_driver_version : str, optional
        Ignored.

    Raises
    ------
    ArgumentError
        In any case.

    Examples
    --------
    >>> from fgrad.tools import colab_tpu
    >>> colab_tpu.setup_tpu()  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    fgrad.errors.ArgumentError: setup_tpu: fgrad computes on the CPU
    """
    raise ArgumentError(
        "setup_tpu: fgrad computes on the CPU, with NumPy; leave the call out, the program is the same"
    )
