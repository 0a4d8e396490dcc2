import Glibc
import Origin

/// The command line of `rankfs-origin`.
struct Options {
    var configuration: OriginConfiguration
    /// A socket to the program that this one serves, and ends with.
    var parent: Int32?

    /// Why the command line cannot be used, or that only help was asked for.
    enum Problem: Error {
        case help
        case usage(String)
    }

    /// Reads the arguments after the program's name.
    init(_ arguments: [String]) throws(Problem) {
        configuration = OriginConfiguration(now: Self.clock(startingAt: nil))
        var rest = arguments[...]
        while let option = rest.popFirst() {
            switch option {
            case "--help", "-h": throw .help
            case "--no-chunked": configuration.chunks = false
            case "--large": configuration.large = true
            case "--unsafe": configuration.allRatings = true
            case "--old-records": configuration.oldRecords = true
            default:
                guard Self.valued.contains(option) else {
                    throw .usage("\(option) is no option of rankfs-origin: see --help.")
                }
                guard let value = rest.popFirst() else { throw .usage("\(option) needs a value: see --help.") }
                try set(option, to: value)
            }
        }
    }

    private static let valued = [
        "--service", "--log", "--replay", "--faults", "--port", "--seed", "--latency", "--rate", "--now", "--parent",
    ]

    private mutating func set(_ option: String, to value: String) throws(Problem) {
        switch option {
        case "--service": configuration.service = try service(value)
        case "--log": configuration.log = value
        case "--replay": configuration.replay = value
        case "--faults": configuration.faults = value
        case "--port": configuration.port = try number(option, value)
        case "--seed": configuration.seed = try number(option, value)
        case "--latency": configuration.latency = Int(try number(option, value) as UInt32)
        case "--parent": parent = try number(option, value)
        case "--rate": configuration.rate = Int(max(1, try number(option, value) as UInt32))
        default: configuration.now = Self.clock(startingAt: Int64(try number(option, value) as UInt32))
        }
    }

    private func service(_ name: String) throws(Problem) -> Service {
        guard let service = Service(rawValue: name) else {
            let names = Service.allCases.map(\.rawValue).joined(separator: ", ")
            throw .usage("--service is one of \(names), not \(name).")
        }
        return service
    }

    private func number<Number: FixedWidthInteger>(_ option: String, _ text: String) throws(Problem) -> Number {
        guard let number = Number(text) else {
            throw .usage("\(option) needs a whole number from 0 to \(Number.max), not \(text).")
        }
        return number
    }

    /// The machine's clock, or one that starts at a given moment and runs on.
    private static func clock(startingAt start: Int64?) -> @Sendable () -> Int64 {
        guard let start else { return { Int64(time(nil)) } }
        let begun = Int64(time(nil))
        return { start + Int64(time(nil)) - begun }
    }

    static let help = String(decoding: PackageResources.help_txt, as: UTF8.self)
}
