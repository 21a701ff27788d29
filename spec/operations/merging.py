"""Merging the attention over two disjoint sets of keys."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

MERGE_ATTENTION = Operation(
    name="merge_attention",
    prefix="merge",
    summary="Join the attention over two disjoint sets of keys to the attention over all of them.",
    parameters=(
        Parameter(
            "output_a",
            "(B, H, L, Dv)",
            "float",
            "positional",
            "attention over the first set of keys",
            also_called="outa out1 o1 oa attna output1 prefixoutput outprefix",
        ),
        Parameter(
            "lse_a",
            "(B, H, L)",
            "float",
            "positional",
            "natural log of its sum of exponentials, −∞ if empty",
            also_called="lse1 logsumexp1 logsumexpa prefixlse lseprefix",
        ),
        Parameter(
            "output_b",
            "(B, H, L, Dv)",
            "float",
            "positional",
            "attention over the second set of keys",
            also_called="outb out2 o2 ob attnb output2 suffixoutput outsuffix",
        ),
        Parameter(
            "lse_b",
            "(B, H, L)",
            "float",
            "positional",
            "natural log of its sum of exponentials, −∞ if empty",
            also_called="lse2 logsumexp2 logsumexpb suffixlse lsesuffix",
        ),
    ),
    result="((B, H, L, Dv), (B, H, L))",
    formula="lse = ln(e^lse_a + e^lse_b), output = e^(lse_a − lse) output_a + e^(lse_b − lse) output_b",
    source="Milakov & Gimelshein 2018, section 3.1; Dao et al. 2022, section 3.1",
    conventions=("layout",),
    results=("output", "lse"),
    place=22,
    also_called=(
        "mergeattentionstates mergeattnstates mergestates mergestate mergepartials mergeattnpartials "
        "combinepartials combineattention mergeattn lsemerge mergelse mergeblocks"
    ),
)

OPERATIONS = (MERGE_ATTENTION,)
