import Catalog
import Fuse
import Glibc
import ImageCache
import Rankings
import Testing

@testable import RankFS

/// Every failure: its errno, and whether it is said.
@Suite struct FailureTests {
    @Test(
        arguments: [
            (.absent, ENOENT), (.notPublished, ENOENT), (.pastTheEnd, ENOENT), (.nameTooLong, ENAMETOOLONG),
            (.forgottenInode, ESTALE), (.unknownHandle, EBADF), (.readOnly, EROFS), (.notADirectory, ENOTDIR),
            (.isADirectory, EISDIR), (.notALink, EINVAL), (.noSuchAttribute, ENODATA), (.cancelled, EINTR),
        ] as [(Failure, Int32)])
    func whatNeedsNoSentenceHasItsErrno(_ failure: Failure, _ code: Int32) {
        #expect(failure.errno == Errno(rawValue: code))
        #expect(failure.explanation(isSecret: false) == nil)
    }

    @Test(
        arguments: [
            (.modeNeedsSignIn, EACCES), (.withheldPicture, EACCES), (.unlocated, EIO), (.needsSignIn, EACCES),
            (.sizeNotTold, EIO), (.database("locked"), EIO), (.withheld("location"), EACCES),
            (.limited(retryAfter: 7), EIO), (.limited(retryAfter: nil), EIO), (.notFound, ENOENT),
            (.unreachable("refused"), EHOSTUNREACH), (.troubled("status 500"), EIO), (.turnedAway("a check"), EIO),
            (.exhausted("too many files"), EMFILE), (.timedOut, ETIMEDOUT), (.unreadable("html"), EIO),
            (.notTaken("too many tags"), EINVAL), (.gone, ENOENT), (.refused("403"), EACCES), (.damaged("short"), EIO),
            (.lengthContradicts(told: 5, shown: 6), EIO), (.broken("cut"), EIO), (.untrusted("a page"), EIO),
            (.answered(status: 503), EIO), (.busy(directory: "/c"), EBUSY), (.unusable("The disk is gone."), EIO),
        ] as [(Failure, Int32)])
    func eachOtherHasItsErrnoAndASentence(_ failure: Failure, _ code: Int32) {
        #expect(failure.errno == Errno(rawValue: code))
        #expect(failure.explanation(isSecret: false) != nil)
    }
}
