import Rankings

/// An answer and the way in which a fault delivers it.
struct Delivery: Sendable {
    var answer: Response
    let request: Request
    /// The rule of the script that applies to the request.
    var script = JSON.null
    /// Bytes a second, below the configured rate.
    var rate: Int?
    /// Positions in the body where it ends in a closed connection, in a reset, or in silence; at -1 not even the header is sent.
    var cutAt: Int?
    var resetAt: Int?
    var stallAt: Int?
    /// The positions of changed bytes.
    var changed: Range<Int>?
    /// The positions of bytes set to zero.
    var blank: Range<Int>?
    /// Noise follows the body without end.
    var isEndless = false
    /// The lengths that the header declares in place of the true one; with none, the end of the connection ends the body.
    var lengths: [Int]?
    /// Headers besides those of the answer.
    var headers: [(String, String)] = []
    /// Whether bytes that are no HTTP replace the header.
    var isGarbage = false

    /// Whether the header is wrong, so that no answer can follow on this connection.
    var writesHeader: Bool { lengths != nil || !headers.isEmpty || isGarbage }

    /// The first position of a cut, a reset or a stall; earlier bytes are sent unchanged.
    var stop: Int {
        min(cutAt ?? .max, resetAt ?? .max, stallAt ?? .max)
    }

    /// A number from the rule.
    func number(_ name: String) -> Int? { script[name].number.map { Int($0) } }

    /// Changes the bytes of a block from `start` on, where the body's byte `offset` is.
    func spoil(_ block: inout [UInt8], from start: Int, at offset: Int) {
        let here = offset..<offset + block.count - start
        for position in changed?.clamped(to: here) ?? 0..<0 { block[start + position - offset] ^= 0xff }
        for position in blank?.clamped(to: here) ?? 0..<0 { block[start + position - offset] = 0 }
    }
}
