import Catalog
import Rankings
import Synchronization

/// The inodes that the kernel knows, by their number.
///
/// Numbers follow from identities, so every mount has the same numbers. If two identities share a number, the second one gets the
/// next free number for the lifetime of this mount.
///
/// ## Concurrency
///
/// Any thread may call; one lock guards everything and is held for a dictionary access.
final class InodeTable: Sendable {
    /// The kernel's number of the root (FUSE_ROOT_ID).
    static let root: UInt64 = 1

    /// No inode: for attributes that are determined before the inode is counted.
    static let none: UInt64 = 0

    /// A node, and the number of replies that named it and were not yet taken back by FORGET.
    typealias Slot = (node: Node, lookups: UInt64)

    fileprivate struct State {
        var slots: [UInt64: Slot] = [:]
        /// The identities with an own number that was taken; almost certainly empty.
        var displaced: [[UInt8]: UInt64] = [:]
    }

    private let state = Mutex(State())
    private let ownNumber: @Sendable (Node) -> UInt64

    /// - Parameter ownNumber: Returns the number of a node; differs from the default only in tests.
    init(ownNumber: @escaping @Sendable (Node) -> UInt64 = { $0.inodeNumber }) {
        self.ownNumber = ownNumber
        state.withLock { $0.slots[Self.root] = (.root, 1) }
    }

    /// The number of inodes that the kernel knows, including the root.
    var count: Int {
        state.withLock { $0.slots.count }
    }

    /// The node with a number, if the kernel may know it.
    func node(_ number: UInt64) -> Node? {
        state.withLock { $0.slots[number]?.node }
    }

    /// The numbers of a picture in all listings that the kernel knows; goes through the whole table.
    func numbers(of picture: PictureID) -> [UInt64] {
        state.withLock { $0.slots }.compactMap { number, slot in
            guard case .picture(let listing, let index) = slot.node, listing.entry(at: Int(index))?.picture == picture
            else { return nil }
            return number
        }
    }

    /// The names that the kernel knows of listings and that stand for other pictures now, or for none; goes through the whole table.
    func changedNames(of keys: Set<ListingKey>, now: (ListingKey) -> Listing?) -> [ListingKey: [String]] {
        let present = keys.reduce(into: [:]) { $0[$1] = now($1) }
        return state.withLock { $0.slots }.values.reduce(into: [:]) { names, slot in
            guard case .picture(let listing, let index) = slot.node, keys.contains(listing.key),
                let entry = listing.entry(at: Int(index))
            else { return }
            let shown = present[listing.key].flatMap { now in
                now.index(named: Array(entry.name.utf8)).flatMap(now.entry)
            }
            if shown?.picture != entry.picture { names[listing.key, default: []].append(entry.name) }
        }
    }

    /// Returns the number of a node without counting a lookup.
    func number(of node: Node) -> UInt64 {
        if node.isRoot { return Self.root }
        let own = ownNumber(node)
        return state.withLock { $0.number(node, own: own) }
    }

    /// Counts one more reply that names the node.
    ///
    /// Call it before replying: the kernel may forget the inode before the reply returns.
    ///
    /// - Parameters:
    ///   - node: The node.
    ///   - number: The node's own number if that is known already.
    /// - Returns: The number of the node.
    func adopt(_ node: Node, number: UInt64? = nil) -> UInt64 {
        if node.isRoot { return Self.root }
        let own = number ?? ownNumber(node)
        return state.withLock { state in
            let number = state.number(node, own: own)
            state.slots[number] = (node, (state.slots[number]?.lookups ?? 0) + 1)
            return number
        }
    }

    /// Takes lookups back, and drops an inode without lookups.
    ///
    /// Never drops the root, never counts below zero.
    ///
    /// - Returns: Whether this call dropped the inode.
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
    /// Returns the number of a node: its own, unless another identity has that number.
    mutating func number(_ node: Node, own: UInt64) -> UInt64 {
        if !displaced.isEmpty, let number = displaced[Array(node.identity.utf8)] { return number }
        guard let slot = slots[own], !slot.node.isSame(as: node) else { return own }
        var number = own
        repeat { number = max(number &+ 1, InodeTable.root + 1) } while slots[number] != nil
        displaced[Array(node.identity.utf8)] = number
        return number
    }

    /// Frees memory once most of the table is empty; the removals before it pay for the copying.
    mutating func shrink() {
        guard slots.capacity > TreeLimits.smallTable, slots.count < slots.capacity / 8 else { return }
        var smaller = [UInt64: InodeTable.Slot](minimumCapacity: slots.count)
        for (number, slot) in slots { smaller[number] = slot }
        slots = smaller
    }
}
