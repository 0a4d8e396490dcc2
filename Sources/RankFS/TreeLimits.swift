/// The numbers of the file system, each with its reason.
enum TreeLimits {
    /// How long the kernel may keep immutable answers: a day, because day-long time-outs make warm `stat` free.
    static let frozen = Duration.seconds(86_400)

    /// How long it may keep answers that change rarely (authors, days still being read): minutes, so that changes show soon.
    static let changing = Duration.seconds(300)

    /// How long it may keep answers that the next day changes (`latest`, a mode's days): a delay of a minute is acceptable.
    static let current = Duration.seconds(60)

    /// How long an unpublished day stays absent: short, because it may appear at any moment.
    static let unpublished = Duration.seconds(60)

    /// The longest name that Linux file systems accept, in bytes; longer names are refused before any search.
    static let longestName = 255

    /// The minimum number of digits of a rank in a file name: three, so that every sort order is rank order.
    static let rankDigits = 3

    /// The maximum size of an attribute's value in Linux, in bytes (XATTR_SIZE_MAX in xattr(7)); longer titles are cut.
    static let longestAttribute = 65_536

    /// Records kept for `getfattr -d`, which reads twenty values of one file: enough for the programs likely to run at once.
    static let rememberedRecords = 64

    /// Seconds between the end of some work and the return of its memory: returning takes milliseconds, so not after each file.
    static let memoryInterval: Int64 = 10

    /// Seconds within which an identical message appears once: a looping reader must not fill the journal.
    static let messageInterval: Int64 = 60

    /// The number of subjects named for one cause in that time; further ones are counted.
    static let messagesOfOneCause = 3

    /// The number of different messages remembered for that: a limit on memory, not on messages.
    static let rememberedMessages = 128

    /// The number of stored pictures tried for `random.jpg`: some may no longer be in any listing.
    static let randomTries = 16

    /// Stored listings read from the database to find an inode by its number: each takes a few milliseconds.
    static let listingsSearched = 64

    /// Bytes in a block of statfs, as `Statistics` counts them.
    static let blockSize: Int64 = 4096

    /// The number of pictures that a file manager gets together with their thumbnails: the first contents of a window.
    static let heldUp = 60

    /// How long the entries for a visit may be delayed in all: an empty window is worse than one without thumbnails.
    static let visit = ThumbnailSeeder.patience

    /// The number of entries shown at once to a program that watches a directory before it identifies itself as a file manager.
    ///
    /// So few have thumbnails before the lookup that identifies it is answered.
    static let toldToWatchers = 8

    /// How long each further entry waits for that lookup, which Dolphin makes after it has read for 300 ms.
    static let announcement = Duration.milliseconds(400)

    /// How long entries wait in all for such a program to identify itself: it may be no file manager.
    static let watch = Duration.milliseconds(1200)

    /// The number of works with a remembered origin: the records are in the database.
    static let rememberedOrigins = 4096

    /// Entries that get thumbnails for a file manager's glance: Dolphin's preview of a directory shows four.
    static let glance = 8

    /// Slots that an emptied inode table may keep: below this, returning memory is not worth the copying.
    static let smallTable = 4096
}
