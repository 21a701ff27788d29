# The README's main command: Veriformer with PyTorch and JAX, and a check of three implementations.
#   docker build --tag veriformer . && docker run --rm veriformer
#   docker run --rm --volume "$PWD:/mine" veriformer veriformer check /mine/my_attention.py
FROM python:3.12-slim
ENV PIP_NO_CACHE_DIR=1
WORKDIR /veriformer
COPY . .
RUN python3 -m venv .venv && .venv/bin/pip install --constraint constraints.txt ".[all]"
ENV PATH="/veriformer/.venv/bin:$PATH"
CMD [".venv/bin/veriformer", "check", "numpy", "torch", "jax", "--workers", "2"]
