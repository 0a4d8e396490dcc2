/// How the bytes of an answer go out, when they do not simply go out.
struct Delivery: Sendable {
    /// Bytes a second, below the configured rate.
    var rate: Int?
    /// Positions in the body where it ends in a closed connection, in a reset, or in silence.
    var cutAt: Int?
    var resetAt: Int?
    var stallAt: Int?
    /// Positions whose bytes are changed.
    var changed: Range<Int>?
    /// Positions whose bytes are zero.
    var blank: Range<Int>?
    /// Noise follows the body without end.
    var isEndless = false
    /// How the header is written by hand, for what libmicrohttpd is too honest to send.
    var raw: RawHeader?

    /// Lines of a header that lies about the body.
    enum RawHeader: Sendable {
        /// In this order; none leaves the end to the end of the connection.
        case lengths([Int])
        case hugeHeader
        case manyHeaders
        /// No header at all but bytes that are no HTTP.
        case garbage
    }

    /// The first position at which something happens; bytes before it go out as they are.
    var stop: Int {
        min(cutAt ?? .max, resetAt ?? .max, stallAt ?? .max)
    }
}
