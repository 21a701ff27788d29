"""The two masks that every Transformer builds."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

CAUSAL_MASK = Operation(
    name="causal_mask",
    prefix="causal_mask",
    summary="Which keys each query may see when none may see a later position.",
    parameters=(
        Parameter(
            "query_length",
            "",
            "scalar",
            "positional",
            "L",
            also_called="l tgtlen qlen querylen seqlen size n t length sz seqlength lq nq tq ql maxlen",
        ),
        Parameter(
            "key_length", "", "scalar", "positional", "S", also_called="s srclen klen kvlen keylen nk tk sk lk kl"
        ),
    ),
    result="bool (L, S)",
    formula="mask[i, j] = (j ≤ i) top-left, or (j ≤ i + S − L) bottom-right",
    source="Vaswani et al. 2017, section 3.2.3",
    conventions=("causal_alignment",),
    place=8,
    also_called=(
        "causalmask causal subsequentmask lookaheadmask triangularmask autoregressivemask "
        "lowertriangularmask nopeekmask squaresubsequentmask futuremask trilmask decodermask attnmask "
        "attentionmask causalattentionmask tril mask"
    ),
)

PADDING_MASK = Operation(
    name="padding_mask",
    prefix="padding_mask",
    summary="Which positions of each padded sequence hold a real token.",
    parameters=(
        Parameter(
            "lengths",
            "(B,)",
            "int",
            "positional",
            "number of real tokens in each sequence",
            also_called="lens seqlens seqlengths validlen validlens lengths",
        ),
        Parameter("max_length", "", "scalar", "positional", "S", also_called="maxlen size length t l s n seqlen"),
    ),
    result="bool (B, S)",
    formula="mask[b, j] = (j < lengths[b])",
    source="Vaswani et al. 2017, section 3.2.3 (masks of illegal positions); True at real tokens",
    place=9,
    also_called=(
        "paddingmask padmask lengthstomask lengthmask sequencemask lengthtomask keypaddingmask lenmask "
        "masklengths seqmask lengthstopaddingmask lengthstopadmask paddingmaskfromlengths maskfromlengths"
    ),
)

OPERATIONS = (CAUSAL_MASK, PADDING_MASK)
