# syntax=docker/dockerfile:1
# The gateway as an image. Behind a TLS proxy, or published on loopback only:
#
#   docker build -t ferry --build-arg FERRY_COMMIT=$(git rev-parse --short=12 HEAD) .
#   docker run --rm --stop-timeout 30 -p 127.0.0.1:8080:8080 -v ferry-data:/data ferry

FROM swift:6.3-bookworm AS build
WORKDIR /src
COPY .ci/setup .ci/setup
RUN apt-get update -q \
    && apt-get install -q -y --no-install-recommends make \
    && .ci/setup build
COPY . .
# The image's build has no .git to ask.
ARG FERRY_COMMIT=
# The Swift runtime is linked in and symbols are left out, so that the image needs only C libraries.
RUN --mount=type=cache,target=/src/.build \
    make install PREFIX=/usr DESTDIR=/image FERRY_COMMIT="$FERRY_COMMIT" EXTRA_FLAGS="-Xlinker -s"

FROM debian:bookworm-slim
RUN apt-get update -q \
    && apt-get install -q -y --no-install-recommends \
        ca-certificates libbrotli1 libcurl4 libevent-2.1-7 libexpat1 libgssapi-krb5-2 libjemalloc2 libnghttp2-14 libpq5 libpsl5 \
        libsqlite3-0 libssl3 libstdc++6 libzstd1 publicsuffix zlib1g \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin ferry \
    && install -d -o ferry -g ferry -m 700 /data /contents
COPY --from=build /image/usr/bin/ferry /usr/bin/ferry

USER 10001:10001
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["ferry", "health"]
ENTRYPOINT ["ferry"]
CMD ["serve", "--host", "0.0.0.0", "--behind-tls-proxy", "--data-directory", "/data"]
