import Rankings
import Glibc
import Origin

/// The command line of `rankfs-origin`.
struct Options {
    var configuration: OriginConfiguration
    /// A socket to the process that started this program; the program ends when that process closes it.
    var parent: Int32?

    /// Reads the arguments after the program's name.
    init(_ arguments: some Sequence<String>) throws(Failure) {
        configuration = OriginConfiguration(now: Self.clock(startingAt: nil))
        var rest = Array(arguments)[...]
        while let option = rest.popFirst() {
            switch option {
            case "--no-chunked": configuration.chunks = false
            case "--large": configuration.large = true
            case "--unsafe": configuration.allRatings = true
            default:
                guard let value = rest.popFirst() else {
                    throw .unusable("\(option) is no option, or needs a value: see --help.")
                }
                try set(option, to: value)
            }
        }
    }

    private mutating func set(_ option: String, to value: String) throws(Failure) {
        switch option {
        case "--service":
            guard let service = Service(rawValue: value) else {
                let names = Service.allCases.map(\.rawValue).joined(separator: ", ")
                throw .unusable("--service is one of \(names), not \(value).")
            }
            configuration.service = service
        case "--log": configuration.log = value
        case "--replay": configuration.replay = value
        case "--faults": configuration.faults = value
        case "--port": configuration.port = try number(option, value)
        case "--seed": configuration.seed = try number(option, value)
        case "--latency": configuration.latency = Int(try number(option, value) as UInt32)
        case "--parent": parent = try number(option, value)
        case "--rate": configuration.rate = Int(max(1, try number(option, value) as UInt32))
        case "--now": configuration.now = Self.clock(startingAt: Int64(try number(option, value) as UInt32))
        default: throw .unusable("\(option) is no option of rankfs-origin: see --help.")
        }
    }

    private func number<Number: FixedWidthInteger>(_ option: String, _ text: String) throws(Failure) -> Number {
        guard let number = Number(text) else {
            throw .unusable("\(option) needs a whole number from 0 to \(Number.max), not \(text).")
        }
        return number
    }

    /// The machine's clock, or a clock that starts at a given moment and runs on.
    private static func clock(startingAt start: Int64?) -> @Sendable () -> Int64 {
        let begun = Int64(time(nil))
        return { (start ?? begun) + Int64(time(nil)) - begun }
    }
}
