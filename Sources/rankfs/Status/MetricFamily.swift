/// One metric of the text format of Prometheus with all its samples.
struct MetricFamily: Sendable {
    /// A value, and the labels that distinguish it from the other samples.
    struct Sample: Sendable {
        let labels: [(name: String, value: String)]
        let value: String

        init(_ value: some BinaryInteger, _ labels: [(name: String, value: String)] = []) {
            self.init(text: "\(value)", labels)
        }

        /// Makes a sample of a number given as text.
        init(text: String, _ labels: [(name: String, value: String)] = []) {
            self.labels = labels
            value = text
        }
    }

    let name: String
    let type: String
    let help: String
    let samples: [Sample]

    /// A figure that goes up and down.
    static func gauge(_ name: String, _ help: String, _ samples: [Sample]) -> MetricFamily {
        MetricFamily(name: name, type: "gauge", help: help, samples: samples)
    }

    /// A figure that only goes up; its name ends with `_total`.
    static func counter(_ name: String, _ help: String, _ samples: [Sample]) -> MetricFamily {
        MetricFamily(name: name, type: "counter", help: help, samples: samples)
    }

    /// The lines of the metric in that format.
    var text: String {
        var text = "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(type)\n"
        for sample in samples {
            let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }
            text += name + (labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}") + " \(sample.value)\n"
        }
        return text
    }

    /// The text with backslashes and line ends escaped, and in labels the quote too.
    private static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
