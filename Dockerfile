# Chequer as a container: the program alone, without a shell, as an unprivileged user.
# Everything that must last is in the volume /data.

# BUILDER is an image with Go 1.26, a shell and CA certificates.
ARG BUILDER=docker.io/library/golang:1.26
FROM ${BUILDER} AS build
WORKDIR /src
COPY . .
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/chequer ./cmd/chequer
RUN mkdir -p /out/data && chown 65532:65532 /out/data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/chequer /usr/bin/chequer
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
ENV CHEQUER_DATA_DIR=/data CHEQUER_LISTEN=0.0.0.0:8080
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=15s --timeout=6s --start-period=20s CMD ["/usr/bin/chequer", "health"]
ENTRYPOINT ["/usr/bin/chequer"]
CMD ["serve"]
