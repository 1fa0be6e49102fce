# The app in an image: `docker build -t imop .`, then
# `docker run --rm -p 127.0.0.1:8501:8501 imop`. Another base image, for example
# a mirror's, is given with --build-arg BASE=...
ARG BASE=python:3.12-slim

FROM ${BASE} AS build
WORKDIR /source
RUN python3 -m venv /opt/imop && /opt/imop/bin/pip install --no-cache-dir "uv>=0.5"
# What changes rarely first: the dependencies are a layer of their own.
COPY constraints.txt pyproject.toml setup.py README.md LICENSE ./
RUN /opt/imop/bin/uv pip install --no-cache --compile-bytecode --python /opt/imop/bin/python \
    --constraint constraints.txt -r pyproject.toml
COPY imop_engine imop_engine
COPY app app
COPY benchmarks benchmarks
COPY data data
COPY experiments experiments
ENV NUMBA_CACHE_DIR=/opt/imop-compiled
# -P looks past the folder we are in, where another copy of the engine lies.
RUN /opt/imop/bin/uv pip install --no-cache --no-deps --python /opt/imop/bin/python . \
    && /opt/imop/bin/uv pip uninstall --python /opt/imop/bin/python uv \
    && /opt/imop/bin/python -m compileall -q /opt/imop/lib/python3*/site-packages/imop_* \
    && /opt/imop/bin/python -P -m imop_engine.warm

FROM ${BASE}
RUN useradd --create-home --uid 10001 imop
COPY --from=build /opt/imop /opt/imop
# Owned by the user: on another kind of processor the code is compiled once more.
COPY --from=build --chown=10001:10001 /opt/imop-compiled /opt/imop-compiled
ENV PATH=/opt/imop/bin:$PATH \
    NUMBA_CACHE_DIR=/opt/imop-compiled \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 10001
WORKDIR /home/imop
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
# All addresses, but only inside the container: what the outside sees is decided by -p.
CMD ["imop", "app", "--address", "0.0.0.0", "--share", "--port", "8501"]
