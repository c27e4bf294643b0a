# The image of a release, around the program that goreleaser built.
FROM docker.io/library/golang:1.26 AS certificates
RUN mkdir -p /out/data && chown 65532:65532 /out/data

FROM scratch
ARG TARGETPLATFORM
COPY --from=certificates /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=certificates --chown=65532:65532 /out/data /data
COPY $TARGETPLATFORM/chequer /usr/bin/chequer
USER 65532:65532
ENV CHEQUER_DATA_DIR=/data CHEQUER_LISTEN=0.0.0.0:8080
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=15s --timeout=6s --start-period=20s CMD ["/usr/bin/chequer", "health"]
ENTRYPOINT ["/usr/bin/chequer"]
CMD ["serve"]
