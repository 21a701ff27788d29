"""The gradients of layer and RMS normalisation."""
