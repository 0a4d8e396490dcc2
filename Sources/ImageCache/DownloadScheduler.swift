internal import HTTP

/// Turns waiting readers, downloads, wishes to preload and free slots into requests; nothing else decides what is asked for
/// next, nor how much of it one request brings.
///
/// In this order, over and over until nothing is left to do:
///
/// 1. A read that waits for bytes which nothing under way brings gets a request, whether or not a slot is free: the transport
///    lets it go as soon as one is, before whatever nobody waits for.
/// 2. Of what else readers want, each picture gets one request, then the free slots are theirs: first the pictures that somebody
///    waits for, then the older ones. Until its first answer a picture has a quarter of what others leave, for those who come
///    at the same moment.
/// 3. Those that preloads may use fetch the pictures begun before, then begin the next wish: what is there in part is worth more
///    to who comes than the beginning of what lies behind it.
///
/// Pure: it is told what there is and returns one order at a time, which the caller carries out before it asks again.
struct DownloadScheduler: Sendable {
    /// What it is told of a download.
    struct Download: Sendable {
        let key: FileKey
        /// Grows with each download: their order.
        var number: UInt64 = 0
        /// Requests that are under way or wait for a slot.
        var requests = 0
        /// Whether a reader has it open or waits.
        var isRead = false
        /// Whether somebody waits for bytes or for the length.
        var isAwaited = false
        /// Whether the source has told anything.
        var hasAnswer = false
        /// Bytes that a waiting read needs and nothing under way brings soon.
        var awaited: Piece?
        /// The next bytes that are wanted besides.
        var wanted: Piece?
        /// The end of what one request was to bring alone.
        var spare: Piece?
        /// The picture's length; nil if nobody told.
        var total: Int64?
    }

    /// What to do next.
    enum Order: Equatable, Sendable {
        /// Ask for all of this piece.
        case request(FileKey, Piece)
        /// Begin a download for the first wish.
        case begin
    }

    /// The smallest share of a picture that is read: at 4 MiB/s it takes 47 ms, less than a request does before its first byte.
    static let smallestRead: Int64 = 192 << 10
    /// The largest share of one: what is longer would end later than others that begin when a slot becomes free.
    static let largestRead: Int64 = 768 << 10
    /// Pictures that nobody reads come with one request up to here.
    ///
    /// One connection brings so much in 0.4 s at 4 MiB/s: longer than people look at a picture before they turn the page.
    static let wholeUnread: Int64 = 3 << 19
    /// The smallest share of a larger one: at 4 MiB/s, 60 ms of latency cost a third of it.
    static let smallestUnread: Int64 = 1 << 19
    /// The largest, while every other slot is busy: larger ones would keep those that become free from helping.
    static let largestUnread: Int64 = 2 << 20
    /// Shares are multiples of this.
    private static let grain: Int64 = 64 << 10
    /// The part of the free slots that a picture may take before anything is heard of it.
    private static let strangersPart = 4

    /// What the transport carries at once.
    let slots: TransferSlots

    /// Says what to do next.
    ///
    /// - Parameters:
    ///   - downloads: All of them, in any order.
    ///   - wishes: Pictures that wait to be preloaded.
    /// - Returns: Nil while everything is under way that should be.
    func next(_ downloads: [Download], wishes: Int) -> Order? {
        let order = downloads.sorted { ($0.isAwaited ? 0 : 1, $0.number) < ($1.isAwaited ? 0 : 1, $1.number) }
        let free = slots.all - downloads.reduce(0) { $0 + $1.requests }
        for download in order {
            guard let piece = download.awaited else { continue }
            return .request(download.key, share(of: piece, for: download, free: free))
        }
        for download in order where download.isRead && download.requests == 0 {
            guard let piece = download.wanted else { continue }
            return .request(download.key, share(of: piece, for: download, free: free))
        }
        for download in order where download.isRead && allowance(of: download, free: free) > 0 {
            guard let piece = download.wanted ?? download.spare else { continue }
            return .request(download.key, share(of: piece, for: download, free: free))
        }
        let unread = downloads.reduce(0) { $0 + ($1.isRead ? 0 : $1.requests) }
        let idle = min(free, slots.ahead - unread)
        guard idle > 0 else { return nil }
        for download in order where !download.isRead {
            guard let piece = download.wanted ?? (idle > wishes ? download.spare : nil) else { continue }
            return .request(download.key, share(of: piece, for: download, idle: idle - wishes))
        }
        return wishes > 0 ? .begin : nil
    }

    /// How many requests more a picture that is read may have.
    private func allowance(of download: Download, free: Int) -> Int {
        guard !download.hasAnswer else { return free }
        let left = max(0, free) + download.requests
        return (left + Self.strangersPart - 1) / Self.strangersPart - download.requests
    }

    /// An equal share of what a reader wants for each slot that it may have.
    private func share(of piece: Piece, for download: Download, free: Int) -> Piece {
        guard piece.isDivisible else { return piece }
        let length = Int64(piece.gap.count)
        let parts = min(Int64(max(1, allowance(of: download, free: free))), length / Self.smallestRead)
        return piece.prefix(min(Self.part(of: length, parts), Self.largestRead))
    }

    /// All of what nobody reads yet, or of a large picture a share for each slot that is idle.
    private func share(of piece: Piece, for download: Download, idle: Int) -> Piece {
        guard piece.isDivisible, let total = download.total, total > Self.wholeUnread else { return piece }
        let part = Self.part(of: Int64(piece.gap.count), Int64(idle))
        return piece.prefix(min(max(Self.smallestUnread, part), Self.largestUnread))
    }

    private static func part(of length: Int64, _ count: Int64) -> Int64 {
        let count = max(1, count)
        guard count > 1 else { return length }
        return min(length, (length / count + grain - 1) / grain * grain)
    }
}
