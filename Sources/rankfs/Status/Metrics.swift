/// What `/.rankfs/metrics` says, a pure function of the status.
///
/// The text format of Prometheus, version 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/).
enum Metrics {
    /// The text of a document's figures.
    static func text(of document: StatusDocument) -> [UInt8] {
        Array(document.metrics.map(\.text).joined().utf8)
    }
}
