import Rankings
import Thumbnails

/// Every number of the file system: its bound and the reason for it.
enum TreeLimits {
    /// How long the kernel may keep what cannot change: a day, because day-long time-outs make warm `stat` free.
    static let frozen = Duration.seconds(86_400)

    /// How long it may keep what changes rarely (authors, days that are still being read): minutes, so that news shows soon.
    static let changing = Duration.seconds(300)

    /// How long it may keep what the next day to appear changes (`latest`, a mode's days): a minute late is soon enough.
    static let current = Duration.seconds(60)

    /// How long a day that is not published yet stays absent: short, because it may appear at any moment.
    static let unpublished = Duration.seconds(60)

    /// The longest name in bytes that Linux file systems take; longer ones are refused before any search.
    static let longestName = 255

    /// The digits of a rank in a file name: three at least, so that every sort order is rank order.
    static let rankDigits = 3

    /// The most digits of an author's or a work's number: what fits 64 bits with room to spare.
    static let idDigits = 18

    /// Bytes of one attribute's value that Linux takes (XATTR_SIZE_MAX in xattr(7)); longer titles are cut.
    static let longestAttribute = 65_536

    /// Records kept for `getfattr -d`, which asks twenty values of one file: enough for as many programs at once as matter.
    static let rememberedRecords = 64

    /// Seconds between the end of some work and giving its memory back: giving back takes milliseconds, so not for each file.
    static let memoryInterval: Int64 = 10

    /// Seconds in which an identical message is said once: a looping reader must not fill the journal.
    static let messageInterval: Int64 = 60

    /// Subjects that are named of one cause in that time; more are counted.
    static let messagesOfOneCause = 3

    /// Different messages remembered for that: a bound on memory, not on messages.
    static let rememberedMessages = 128

    /// Characters of outside text in one message: a hostile answer must not fill a line without end.
    static let longestMessagePart = 400

    /// Stored pictures tried for `random.jpg`: some may be in no listing any more.
    static let randomTries = 16

    /// Stored listings read from the database to find an inode by its number: each takes some milliseconds.
    static let listingsSearched = 64

    /// Bytes in a block of statfs, as `Statistics` counts them.
    static let blockSize: Int64 = 4096

    /// Pictures of which a file manager is told with their thumbnails: what a window shows at once.
    static let heldUp = 60

    /// How long a visit may hold up what is told of entries, in all: an empty window is worse than one without thumbnails.
    static let visit = ThumbnailSeeder.patience

    /// Entries that a program which watches a directory is told of at once before it shows itself as a file manager: so few have
    /// thumbnails before the look by which it does so is answered.
    static let toldToWatchers = 8

    /// How long each further one waits for that: Dolphin looks when it has read for 300 ms.
    static let announcement = Duration.milliseconds(400)

    /// How long such a program is waited for in all: it may be none.
    static let watch = Duration.milliseconds(1200)

    /// Threads of which it is remembered what they found by a further name: those between a lookup and an open are few.
    static let rememberedFinders = 1000

    /// Entries that thumbnails are made of where a file manager only glances: Dolphin's preview of a directory shows four.
    static let glance = 8

    /// Slots that an emptied inode table may keep: below this, giving memory back is not worth the copying.
    static let smallTable = 4096
}
