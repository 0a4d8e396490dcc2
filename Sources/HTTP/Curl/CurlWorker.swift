import CCurl
import Glibc
import Synchronization

/// A loop, its thread and the way in: what carries the transfers of one class.
///
/// ## Concurrency
///
/// Any thread may call. The thread runs from `init` to `shutdown`.
final class CurlWorker: Sendable {
    /// libcurl's global set-up, done once in the process (curl_global_init(3)).
    private static let isCurlReady: Bool = rankfs_curl_global_init() == CURLE_OK

    private let mailbox: CurlMailbox
    /// Nil once joined.
    private let thread: Mutex<pthread_t?>

    /// Starts the thread.
    ///
    /// - Throws: `.refused` if libcurl or the thread cannot be started.
    init(
        _ transferClass: TransferClass, book: AddressBook, configuration: CurlTransport.Configuration,
        ledger: RequestLedger, resolver: NameResolver, doubt: ConnectionDoubt
    ) throws(HTTPError) {
        guard Self.isCurlReady,
            let loop = CurlLoop(
                transferClass, book: book, configuration: configuration, ledger: ledger, resolver: resolver,
                doubt: doubt)
        else {
            throw .refused("libcurl cannot be started; is memory or the number of open files exhausted?")
        }
        let mailbox = loop.mailbox
        guard let thread = OwnThread.startJoinable({ loop.run() }) else {
            throw .refused("No thread can be started for the network; is the limit of processes reached?")
        }
        self.mailbox = mailbox
        self.thread = Mutex(thread)
    }

    /// Hands a request to the loop.
    func start(_ request: HTTPRequest, sink: any ResponseSink) -> any Transfer {
        let id = mailbox.makeID()
        if !mailbox.post(.start(id, request, sink)) { sink.finish(.failure(.cancelled)) }
        return CurlTransfer(id: id, mailbox: mailbox)
    }

    /// What the loop last told about itself.
    var counts: (active: Int, queued: Int) { mailbox.counts }

    /// Calls back from the loop's thread; never after the shutdown.
    func echo(_ answer: @escaping @Sendable () -> Void) {
        _ = mailbox.post(.echo(answer))
    }

    /// Whether the caller is the loop's thread, within a sink.
    var isCurrentThread: Bool {
        thread.withLock { thread in thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    /// Cancels everything and wakes the loop; a second time is nothing.
    ///
    /// - Parameter waits: Whether to return only once the thread has ended; not from within a sink.
    func shutdown(waits: Bool = true) {
        let running = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        guard let running else { return }
        _ = mailbox.post(.shutdown)
        if waits {
            pthread_join(running, nil)
        } else {
            pthread_detach(running)
        }
    }
}

/// A transfer as its owner sees it: a number that the loop knows.
private final class CurlTransfer: Transfer {
    let id: Int
    let mailbox: CurlMailbox

    init(id: Int, mailbox: CurlMailbox) {
        self.id = id
        self.mailbox = mailbox
    }

    func setPriority(_ priority: TransferPriority) {
        _ = mailbox.post(.setPriority(id, priority))
    }

    func cancel() {
        _ = mailbox.post(.cancel(id))
    }
}
