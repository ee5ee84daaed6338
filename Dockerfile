# One image for the dashboard and for workers.
#
#   docker build --tag shoestring .
#   docker run --rm -v "$PWD:/work" shoestring status study.db
#   docker run --rm -v "$PWD:/work" -p 127.0.0.1:8080:8080 -e SHOESTRING_TOKEN=... \
#       shoestring dashboard study.db --host 0.0.0.0
#   docker run --rm -v "$PWD:/work" shoestring worker postgresql://ada@db.example/tuning digits train.py:train
# The container's user has the id 1000. If yours has another, add --user "$(id -u)", so that it may write to the folder.
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
COPY constraints.txt /tmp/constraints.txt
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    wheel=$(ls /wheels/shoestring-*.whl) \
    && pip install --no-cache-dir --constraint /tmp/constraints.txt "${wheel}[dashboard,postgres,plots]"
RUN useradd --create-home --uid 1000 tuner
USER tuner
# The storage, and the file of a worker's objective, are expected here.
WORKDIR /work
ENTRYPOINT ["shoestring"]
CMD ["--help"]
