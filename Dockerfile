# The app in an image: `docker build -t imop .`, then
# `docker run --rm --network host imop`, which serves this computer alone. To others
# it is served only with a login: deploy/compose.yaml. Another base image, for example
# a mirror's, is given with --build-arg BASE=...; the very one that was looked at,
# whatever its name means later, with --build-arg DIGEST=sha256:...
ARG BASE=python:3.12-slim
ARG DIGEST=

FROM ${BASE}${DIGEST:+@${DIGEST}} AS build
WORKDIR /source
# What changes rarely first: the dependencies are a layer of their own, every file of them compared
# with its digest, and nothing else taken to build with.
COPY constraints-image.txt pyproject.toml setup.py README.md LICENSE ./
RUN python3 -m venv /opt/imop \
    && /opt/imop/bin/pip install --no-cache-dir --no-deps --require-hashes -r constraints-image.txt
COPY imop_engine imop_engine
COPY app app
COPY benchmarks benchmarks
COPY data data
COPY experiments experiments
ENV NUMBA_CACHE_DIR=/opt/imop-compiled
# -P looks past the folder we are in, where another copy of the engine lies.
RUN /opt/imop/bin/pip install --no-cache-dir --no-deps --no-build-isolation . \
    && /opt/imop/bin/pip uninstall --yes setuptools pip \
    && /opt/imop/bin/python -m compileall -q /opt/imop/lib/python3*/site-packages/imop_* \
    && /opt/imop/bin/python -P -m imop_engine.warm

FROM ${BASE}${DIGEST:+@${DIGEST}}
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
# This computer only: other addresses want a login (docs/team.md).
CMD ["imop", "app", "--port", "8501"]
