"""Comparisons for tests."""

from fgrad.test_util import check_grads

__all__ = ["check_grads"]
