"""The named regions of the case space, which a quick run must visit. They come from conditions that hid real mistakes:
equal lengths, one head, one key, block sizes, shared masks, small logits. `mistakes/regions.json` says in which of them
a mistake shows; a case space must not lack the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from veriformer.conformance_tests.drawing.region import Region
from veriformer.conformance_tests.operations.suites import modules_of

_CATALOGUE: tuple[Region, ...] = tuple(region for module in modules_of("regions") for region in module.REGIONS)

REGIONS: Mapping[str, Region] = MappingProxyType({region.name: region for region in _CATALOGUE})
if len(REGIONS) != len(_CATALOGUE):
    raise ValueError("two regions have the same name")
