/// How many bodies a transport carries from one host at once, each on a connection of its own; who asks for bodies shares them out.
package struct TransferSlots: Hashable, Sendable {
    /// For whoever waits.
    package let all: Int
    /// Those of them that requests may take which nobody waits for.
    package let ahead: Int

    /// Leaves a quarter of many slots, and one of few, to whoever comes and waits; of a single one others have what is left.
    package init(all: Int) {
        self.all = max(1, all)
        ahead = max(1, min(self.all - 1, max(Self.usefulAhead, self.all * 3 / 4)))
    }

    /// So many connections carry what a person at a viewer reads ahead: at 4 MiB/s each, twenty pictures a second.
    private static let usefulAhead = 7
}
