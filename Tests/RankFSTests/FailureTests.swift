import Catalog
import Fuse
import Glibc
import ImageCache
import Rankings
import Testing

@testable import RankFS

/// Every failure: its errno, and whether it is said.
@Suite struct FailureTests {
    struct Case: Sendable {
        let failure: Failure
        let code: Int32
        let isSaid: Bool
    }

    private static let own: [Case] = [
        Case(failure: .absent, code: ENOENT, isSaid: false),
        Case(failure: .nameTooLong, code: ENAMETOOLONG, isSaid: false),
        Case(failure: .forgottenInode, code: ESTALE, isSaid: false),
        Case(failure: .unknownHandle, code: EBADF, isSaid: false),
        Case(failure: .readOnly, code: EROFS, isSaid: false),
        Case(failure: .notADirectory, code: ENOTDIR, isSaid: false),
        Case(failure: .isADirectory, code: EISDIR, isSaid: false),
        Case(failure: .notALink, code: EINVAL, isSaid: false),
        Case(failure: .noSuchAttribute, code: ENODATA, isSaid: false),
        Case(failure: .modeNeedsSignIn, code: EACCES, isSaid: true),
        Case(failure: .withheldPicture, code: EACCES, isSaid: true),
        Case(failure: .unlocated, code: EIO, isSaid: true),
    ]

    private static let catalog: [Case] = [
        Case(failure: .absent, code: ENOENT, isSaid: false),
        Case(failure: .needsSignIn, code: EACCES, isSaid: true),
        Case(failure: .sizeNotTold, code: EIO, isSaid: true),
        Case(failure: .database("locked"), code: EIO, isSaid: true),
        Case(failure: .notPublished, code: ENOENT, isSaid: false),
        Case(failure: .pastTheEnd, code: ENOENT, isSaid: false),
        Case(failure: .needsSignIn, code: EACCES, isSaid: true),
        Case(failure: .withheld("location"), code: EACCES, isSaid: true),
        Case(failure: .limited(retryAfter: 7), code: EIO, isSaid: true),
        Case(failure: .notFound, code: ENOENT, isSaid: true),
        Case(failure: .unreachable("refused"), code: EHOSTUNREACH, isSaid: true),
        Case(failure: .troubled("status 500"), code: EIO, isSaid: true),
        Case(failure: .turnedAway("a check"), code: EIO, isSaid: true),
        Case(failure: .turnedAway("a check"), code: EIO, isSaid: true),
        Case(failure: .exhausted("too many files"), code: EMFILE, isSaid: true),
        Case(failure: .exhausted("too many files"), code: EMFILE, isSaid: true),
        Case(failure: .timedOut, code: ETIMEDOUT, isSaid: true),
        Case(failure: .unreadable("html"), code: EIO, isSaid: true),
        Case(failure: .notTaken("too many tags"), code: EINVAL, isSaid: true),
        Case(failure: .cancelled, code: EINTR, isSaid: false),
    ]

    private static let picture: [Case] = [
        Case(failure: .unreachable("refused"), code: EHOSTUNREACH, isSaid: true),
        Case(failure: .timedOut, code: ETIMEDOUT, isSaid: true),
        Case(failure: .gone, code: ENOENT, isSaid: true),
        Case(failure: .refused("403"), code: EACCES, isSaid: true),
        Case(failure: .damaged("short"), code: EIO, isSaid: true),
        Case(failure: .lengthContradicts(told: 5, shown: 6), code: EIO, isSaid: true),
        Case(failure: .broken("cut"), code: EIO, isSaid: true),
        Case(failure: .untrusted("a page"), code: EIO, isSaid: true),
        Case(failure: .answered(status: 503), code: EIO, isSaid: true),
        Case(failure: .limited(retryAfter: nil), code: EIO, isSaid: true),
        Case(failure: .cancelled, code: EINTR, isSaid: false),
        Case(failure: .busy(directory: "/c"), code: EBUSY, isSaid: true),
        Case(failure: .unusable("The disk is gone."), code: EIO, isSaid: true),
    ]

    @Test(arguments: own + catalog + picture)
    func eachHasItsErrnoAndItsSentence(_ item: Case) {
        #expect(item.failure.errno == Errno(rawValue: item.code))
        #expect((item.failure.explanation(isSecret: false) != nil) == item.isSaid)
    }

    @Test func reasonsFromOutsideStayOnOneLine() throws {
        let reason = "bad\n\u{1B}[31mred\u{202E}txt" + String(repeating: "x", count: 1_000_000)
        let text = try #require(Failure.damaged(reason).explanation(isSecret: false))
        #expect(text.contains("bad\\u{a}\\u{1b}[31mred\\u{202e}txt"))
        #expect(text.count < 1000)
    }
}
