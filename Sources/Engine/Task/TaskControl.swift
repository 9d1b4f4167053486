internal import Loop
internal import Semantics

/// What the parts of a task may do to it: they tell what has happened, and the runner moves it.
@LoopActor
protocol TaskControl: AnyObject {
    /// Where the task is.
    var machine: TaskMachine { get }
    /// Something has happened: it is acted on at once, or once the orders of the input before are
    /// performed.
    func send(_ input: TaskMachine.Input)
    /// Ends the task with an error; a suspended one when it is resumed (S-77).
    func fail(_ error: TransferError)
    /// Stores the record, with the state that the machine is in.
    func save()
    /// What the task shows may not be what was told of it: the next commit tells.
    func noteChanges()
    /// Whether a decision stands between the task and its next attempt.
    func setAsksForDecision(_ asks: Bool)
    /// Whether the next attempt needs a body from the client.
    func setAsksForBody(_ asks: Bool)
    /// An attempt, or what was to follow one, is over: there may be nothing left to be done.
    func rest()
    /// The task's response goes on as a download of its own (S-70).
    func becomeDownload()
}

/// Asks the task's delegate.
@LoopActor
protocol DelegateAsking: AnyObject {
    /// Whether the delegate has been asked, and the answer not been acted on.
    var isAsked: Bool { get }
    /// Whether an answer is awaited.
    var isOpen: Bool { get }
    /// Whether the delegate has allowed the response, or was not asked.
    var isResponseDecided: Bool { get }
    /// An answer is about to come that nothing is decided about.
    func responseBegins()
    /// The attempt has failed: what was asked about its answer is not asked any more.
    func responseIsLost()
    /// Tells of a response, and asks what becomes of it where the delegate wants to be.
    ///
    /// - Returns: whether it waits for the answer.
    func shows(_ response: ResponseRecord) -> Bool
    /// Asks. The answer, or the default one after the deadline, is acted on when it comes.
    func ask(_ kind: DecisionKind, _ question: (DecisionNotice) -> EventBody)
    /// Asks what is to become of a response that is held.
    func ask(_ question: Exchange.Question, after response: ResponseRecord)
    /// Asks what the handshake has brought up, with which the attempt has ended.
    func ask(_ question: HandshakeQuestion)
}
