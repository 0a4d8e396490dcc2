/// Whether traffic counts as dear: what the option `metered` says.
enum MeteredRule: String, Hashable, Sendable, CaseIterable {
    /// As NetworkManager sees the network.
    case auto
    case yes
    case no

    /// Whether the network is metered.
    ///
    /// - Parameter told: NetworkManager's `Metered`; nil if nobody tells. 1 is yes and 3 a guess at yes, 2 and 4 are the same of
    ///   no, 0 is unknown (NMMetered in NetworkManager's D-Bus interface).
    /// - Returns: True if nothing is to be downloaded that nobody asked for.
    func isMetered(told: UInt32?) -> Bool {
        switch self {
        case .auto: told == 1 || told == 3
        case .yes: true
        case .no: false
        }
    }
}
