# The image of the operator: one static program, nothing else. hack/image builds the same without a container engine; a test
# keeps the two alike. BuildKit fills in BUILDPLATFORM, TARGETOS and TARGETARCH, and takes SOURCE_DATE_EPOCH for all times.
ARG GO_VERSION=1.26.8
FROM --platform=$BUILDPLATFORM golang:${GO_VERSION} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
ARG VERSION=dev
ARG COMMIT=unknown
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false -tags grpcnotrace \
    -ldflags "-s -w -X main.version=$VERSION -X main.commit=$COMMIT" -o /manager .

FROM scratch
ARG VERSION=dev
ARG COMMIT=unknown
LABEL org.opencontainers.image.title="AlterShield Operator" \
      org.opencontainers.image.description="Change control for Kubernetes workloads" \
      org.opencontainers.image.source="https://github.com/traas-stack/altershield-operator" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$COMMIT"
COPY --from=build /manager /manager
USER 65532:65532
ENTRYPOINT ["/manager"]
