"""The one backend there is."""

from typing import Any

from fgrad.devices import devices

__all__ = ["backends", "get_backend"]


class _Backend:
    platform = "cpu"
    platform_version = "NumPy"

    def devices(self) -> list[Any]:
        """All devices."""
        return list(devices())

    local_devices = devices

    def device_count(self) -> int:
        """The number of devices."""
        return len(self.devices())

    local_device_count = device_count


_BACKEND = _Backend()


def get_backend(platform: str | None = None) -> Any:
    """What computes: NumPy on the processor."""
    return _BACKEND


def backends() -> dict[str, Any]:
    """All backends by name."""
    return {"cpu": _BACKEND}
