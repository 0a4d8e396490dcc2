import Rankings
import Synchronization

/// The inodes that the kernel knows, by their number.
///
/// Numbers follow from identities, so every mount gives the same ones; should two identities ever share a number, the
/// second one gets the next free number for as long as this mount lives.
///
/// ## Concurrency
///
/// Any thread may call; one lock guards everything and is held for a dictionary access.
final class InodeTable: Sendable {
    /// The kernel's name for the root (FUSE_ROOT_ID).
    static let root: UInt64 = 1

    /// No inode: for attributes that are asked for before the inode is counted.
    static let none: UInt64 = 0

    struct Slot {
        var node: Node
        /// How many replies named this inode and were not yet taken back by FORGET.
        var lookups: UInt64
    }

    fileprivate struct State {
        var slots: [UInt64: Slot] = [:]
        /// Identities whose own number was taken; empty in all likelihood.
        var displaced: [[UInt8]: UInt64] = [:]
    }

    private let state = Mutex(State())
    private let ownNumber: @Sendable (Node) -> UInt64

    /// - Parameter ownNumber: The number of a node; another one than the usual only in tests.
    init(ownNumber: @escaping @Sendable (Node) -> UInt64 = { $0.inodeNumber }) {
        self.ownNumber = ownNumber
        state.withLock { $0.slots[Self.root] = Slot(node: .root, lookups: 1) }
    }

    /// How many inodes the kernel knows, the root among them.
    var count: Int {
        state.withLock { $0.slots.count }
    }

    /// The node with a number, if the kernel may know it.
    func node(_ number: UInt64) -> Node? {
        state.withLock { $0.slots[number]?.node }
    }

    /// The number of a node, without telling it to the kernel as something it may ask for.
    func number(of node: Node) -> UInt64 {
        if node.isRoot { return Self.root }
        let own = ownNumber(node)
        return state.withLock { $0.number(node, own: own) }
    }

    /// Counts one more reply that names the node, and returns its number.
    ///
    /// Call it before replying: the kernel may forget the inode before the reply returns.
    func adopt(_ node: Node) -> UInt64 {
        adopt(node, number: nil)
    }

    /// As ``adopt(_:)``, with the node's own number if that is known already.
    func adopt(_ node: Node, number: UInt64?) -> UInt64 {
        if node.isRoot { return Self.root }
        let own = number ?? ownNumber(node)
        return state.withLock { state in
            let number = state.number(node, own: own)
            if var slot = state.slots[number] {
                slot.node = node
                slot.lookups += 1
                state.slots[number] = slot
            } else {
                state.slots[number] = Slot(node: node, lookups: 1)
            }
            return number
        }
    }

    /// Takes lookups back; an inode without any is dropped.
    ///
    /// Never drops the root, never counts below zero.
    ///
    /// - Returns: Whether the inode was dropped now.
    @discardableResult
    func forget(_ number: UInt64, lookups: UInt64) -> Bool {
        guard number != Self.root else { return false }
        return state.withLock { state in
            guard let slot = state.slots[number] else { return false }
            guard slot.lookups <= lookups else {
                state.slots[number]?.lookups -= lookups
                return false
            }
            state.slots[number] = nil
            state.shrink()
            return true
        }
    }
}

extension InodeTable.State {
    /// The number of a node: its own, unless another identity has that one.
    mutating func number(_ node: Node, own: UInt64) -> UInt64 {
        if !displaced.isEmpty, let number = displaced[Array(node.identity.utf8)] { return number }
        guard let slot = slots[own], !slot.node.isSame(as: node) else { return own }
        var number = own
        repeat { number = max(number &+ 1, InodeTable.root + 1) } while slots[number] != nil
        displaced[Array(node.identity.utf8)] = number
        return number
    }

    /// Gives memory back once most of the table is empty; the copying is paid for by the removals before it.
    mutating func shrink() {
        guard slots.capacity > TreeLimits.smallTable, slots.count < slots.capacity / 8 else { return }
        var smaller = [UInt64: InodeTable.Slot](minimumCapacity: slots.count)
        for (number, slot) in slots { smaller[number] = slot }
        slots = smaller
    }
}
