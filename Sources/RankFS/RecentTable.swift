/// A dictionary that keeps the values used last: a new key beyond the bound removes the least recently used one.
struct RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The maximum number of values.
    private let most: Int
    private var slots: [Key: (value: Value, use: UInt64)] = [:]
    private var uses: UInt64 = 0

    init(most: Int) {
        self.most = most
    }

    /// The number of values.
    var count: Int { slots.count }

    /// The value of a key; only writing counts as a use.
    subscript(key: Key) -> Value? {
        get { slots[key]?.value }
        set {
            guard let newValue else {
                slots[key] = nil
                return
            }
            // A search in the whole table: it is short, and new keys are rare where it is full.
            if slots[key] == nil, count >= most, let last = slots.min(by: { $0.value.use < $1.value.use }) {
                slots[last.key] = nil
            }
            uses += 1
            slots[key] = (newValue, uses)
        }
    }

    /// The value of a key, or another one until a value is written.
    subscript(key: Key, default other: @autoclosure () -> Value) -> Value {
        get { self[key] ?? other() }
        set { self[key] = newValue }
    }
}
