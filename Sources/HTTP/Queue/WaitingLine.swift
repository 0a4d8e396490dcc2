/// Ids in the order of their keys, and among equal keys in that of the ids; one that leaves, from wherever, is not searched for.
///
/// A binary heap with the places that were left since, which are dropped as they come to the top: each change costs the
/// logarithm of the length at most.
struct WaitingLine<Key: Comparable> {
    struct Place: Comparable {
        let id: Int
        let key: Key

        static func < (left: Place, right: Place) -> Bool {
            left.key == right.key ? left.id < right.id : left.key < right.key
        }
    }

    /// Left places that are kept before the heap is made anew.
    private static var mostLeft: Int { 64 }

    private var keys: [Int: Key] = [:]
    private var heap: [Place] = []

    var count: Int { keys.count }

    /// Puts an id in its place; one that is there already moves.
    mutating func insert(_ id: Int, _ key: Key) {
        if heap.count > 2 * keys.count + Self.mostLeft {
            // Sorted is a heap.
            heap = keys.map { Place(id: $0.key, key: $0.value) }.sorted()
        }
        keys[id] = key
        heap.append(Place(id: id, key: key))
        var child = heap.count - 1
        while child > 0, heap[child] < heap[(child - 1) / 2] {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Takes an id out; false if it is not there.
    @discardableResult
    mutating func remove(_ id: Int) -> Bool { keys.removeValue(forKey: id) != nil }

    /// The first place; nil if there is none.
    mutating func first() -> Place? {
        while let top = heap.first {
            if keys[top.id] == top.key { return top }
            dropTop()
        }
        return nil
    }

    private mutating func dropTop() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var child = 2 * parent + 1
            if child + 1 < heap.count, heap[child + 1] < heap[child] { child += 1 }
            guard child < heap.count, heap[child] < heap[parent] else { return }
            heap.swapAt(child, parent)
            parent = child
        }
    }
}
