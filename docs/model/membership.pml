/* The agreed membership of a run (docs/membership.md) for up to four ranks.
 *
 * A view is modelled by its lineage: four bits of members for each epoch after the first, oldest lowest. The view in
 * force at a rank, the epoch, and who descends from whom can all be read off it.
 *
 * WORLD 0, safety: messages are late or lost at will, also those of a rank that has died since, and a rank may hold any
 * rank of another host silent at any time. This covers every pattern of cuts and stops.
 * WORLD 1, progress: explicit stops and cuts; silence is what they cause; what can be delivered is delivered. Every step
 * uses up something bounded, so all runs end, and the end is looked at.
 *
 * Asserted: (1) no two living ranks have views of which neither descends from the other; (2) an exchange takes
 * contributions to one view only; (3) a rank's epochs grow, and each of its views descends from the one before; (4) in WORLD 1, at the
 * end: ranks that reach each other have one view, and nobody waits that may go on; (5) a view has at least half of the
 * members of the one before, unless all others have died.
 *
 * Wrong rules, all refuted: -DWRONG=1 the dead leave the electorate; 2 votes without promises; 3 a proposer prefers its
 * own members to an accepted proposal; 4 any half suffices; 5 messages of ranks known to be dead are taken; 6 a
 * proposer whose ballot was overtaken waits for new evidence; 7 votes are asked for although those that
 * answered do not suffice; 8 an answer counts although its sender has fallen silent since. And two properties that do not hold: -DSTRONG=1 (1) also for exchanges of
 * ranks that have all died; -DSTRICT=1 one view per epoch, even if all that installed the other have died. */
#ifndef WORLD
#define WORLD 0
#endif
#ifndef WRONG
#define WRONG 0
#endif
#ifndef LAYOUT
#define LAYOUT 1
#endif
#ifndef CRASHES
#define CRASHES 2
#endif
#ifndef EPOCHS
#define EPOCHS 2                      /* changes of the view; at most 3 */
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2                    /* ballots of a rank for one change */
#endif
#ifndef STOPS
#define STOPS 1
#endif
#ifndef CUTS
#define CUTS 1
#endif
#ifndef LASTING
#define LASTING 0                     /* 1: what is stopped or cut stays so */
#endif
#ifndef STRICT
#define STRICT 0
#endif

#ifndef ANYWHERE
#define ANYWHERE 0                    /* 1: deaths are certain to all hosts, not only to the ranks of the same host */
#endif
#ifndef STRONG
#define STRONG 0
#endif

#if LAYOUT == 1                       /* hosts {0,1} {2} */
#define START 7
#define HOST(r) ((r) / 2)
#elif LAYOUT == 2                     /* {0} {1} {2} */
#define START 7
#define HOST(r) (r)
#elif LAYOUT == 3                     /* {0,1} {2,3} */
#define START 15
#define HOST(r) ((r) / 2)
#elif LAYOUT == 4                     /* {0,1,2} */
#define START 7
#define HOST(r) 0
#elif LAYOUT == 5                     /* {0,1,2} {3} */
#define START 15
#define HOST(r) ((r) / 3)
#elif LAYOUT == 6                     /* {0} {1,2,3} */
#define START 15
#define HOST(r) (((r) + 2) / 3)
#elif LAYOUT == 7                     /* {0,2} {1,3} */
#define START 15
#define HOST(r) ((r) % 2)
#elif LAYOUT == 8                     /* {0,1} {2} {3} */
#define START 15
#define HOST(r) ((r) < 2 -> 0 : (r) - 1)
#endif

#define BIT(x)      (1 << (x))
#define HAS(m,x)    (((m) >> (x)) & 1)
#define COUNT(m)    (HAS(m,0) + HAS(m,1) + HAS(m,2) + HAS(m,3))
#define ALL(F)      (F(0) && F(1) && F(2) && F(3))
#define ANY(F)      (F(0) || F(1) || F(2) || F(3))
#define MASK(F)     ((F(0) -> 1 : 0) | (F(1) -> 2 : 0) | (F(2) -> 4 : 0) | (F(3) -> 8 : 0))

#define EPOCH(l)      ((l) == 0 -> 0 : ((l) < 16 -> 1 : ((l) < 256 -> 2 : 3)))
#define MEMBERS(l)    ((l) == 0 -> START : ((l) < 16 -> (l) : ((l) < 256 -> (l) >> 4 : (l) >> 8)))
#define UP_TO(l,e)    ((l) & (BIT(4 * (e)) - 1))           /* the ancestor of epoch e */
#define CHILD(l,m)    ((l) | ((m) << (4 * EPOCH(l))))
#define LINE(k,l)     (UP_TO(k, EPOCH(l)) == UP_TO(l, EPOCH(k)))    /* one descends from the other */
#define VIEW(p)       MEMBERS(lineage[p])

typedef Proposer { byte phase, ballot, answered, votes, members, deaths, best, best_members }
Proposer P[4];                        /* phase 1: asks for promises, 2: for votes. Outlives its rank: messages under way */
short lineage[4];                     /* by rank: its view in force */
byte installed[4];                    /* the epochs whose views it has installed */
byte promised[4], accepted[4], accepted_members[4];        /* for the next epoch: ballots, 0: none */
byte dead[4];                         /* the ranks it knows to have died */
byte alive = START, stopped, cut;     /* cut: the hosts of one side */
byte crashes = CRASHES, stops = STOPS, cuts = CUTS;
short completed;                      /* the latest view in which all members have contributed to an exchange */
short decided[4];                     /* for STRICT: the first view of each epoch */
byte seen[4], begun[4];               /* for WORLD 1: evidence of its last ballot, ballots begun */
hidden byte i, j;
hidden short k;

#define RUNS(p)       HAS(alive & ~stopped, p)
#define CUT(p,q)      (HAS(cut, HOST(p)) != HAS(cut, HOST(q)))
#if WORLD == 0
#define HEARS(q,p)    (WRONG == 5 || !HAS(dead[q],p))      /* rank q may take a message that p has sent */
#define SILENT(p,q)   (HOST(p) != HOST(q))
#else
#define HEARS(q,p)    (RUNS(p) && !CUT(p,q))
#define SILENT(p,q)   (HOST(p) != HOST(q) && (!RUNS(q) || CUT(p,q)))
#endif
#define WITNESS(p,q)  (HOST(p) == HOST(q) || ANYWHERE)

#define QUORUM(s,v)   (2 * COUNT(s) > COUNT(v) || (2 * COUNT(s) == COUNT(v) && (((s) & (v) & -(v)) != 0 || WRONG == 4)))
#define SUFFICE(s,d,v) (QUORUM(s, (v) & (WRONG == 1 -> ~(d) : 15)) || ((v) & ~(s) & ~(d)) == 0)
#define MISSED(m)     (HAS(VIEW(p),m) && (HAS(dead[p],m) || SILENT(p,m)))
#define PASSED(m)     ((m) >= p || !HAS(VIEW(p),m) || HAS(dead[p],m) || SILENT(p,m))
#define HEARD(m)      (!HAS(VIEW(p),m) || HAS(P[p].answered,m) || HAS(dead[p],m) || SILENT(p,m))
#define NOT_AGAINST(m) (!HAS(alive,m) || LINE(lineage[m], lineage[i]))
/* Rank j takes the contribution of m to its exchange of view k. */
#define TAKEN(m)      (!HAS(MEMBERS(k),m) || (HAS(installed[m], EPOCH(k)) && (WRONG == 5 || !HAS(dead[j],m))))
#define SAME_VIEW(m)  (!HAS(MEMBERS(k),m) || UP_TO(lineage[m], EPOCH(k)) == k)

inline forget(p) {
  P[p].phase = 0; P[p].ballot = 0; P[p].answered = 0; P[p].votes = 0; P[p].members = 0; P[p].deaths = 0; P[p].best = 0;
  P[p].best_members = 0
}
inline finish(p) {                       /* what is under way from it stays so */
  alive = alive & ~BIT(p); stopped = stopped & ~BIT(p); promised[p] = 0; accepted[p] = 0; accepted_members[p] = 0;
  seen[p] = 0; begun[p] = 0;
  if :: P[p].phase == 2 && WORLD == 0 -> P[p].votes = 0; P[p].best = 0; P[p].best_members = 0 :: else -> forget(p) fi
}
inline install() {                    /* rank i installs view k */
  printf("rank %d installs epoch %d members %d (%x)\n", i, EPOCH(k), MEMBERS(k), k);
  assert(EPOCH(k) > EPOCH(lineage[i]) && UP_TO(k, EPOCH(lineage[i])) == lineage[i]);           /* (3) */
  lineage[i] = k; installed[i] = installed[i] | BIT(EPOCH(k));
  promised[i] = 0; accepted[i] = 0; accepted_members[i] = 0; seen[i] = 0; begun[i] = 0; forget(i);
#if STRICT
  if :: decided[EPOCH(k)] == 0 -> decided[EPOCH(k)] = k :: else fi;
  assert(decided[EPOCH(k)] == k);                                                             /* (1), of the dead too */
#endif
  if
  :: HAS(MEMBERS(k),i) ->
     assert(ALL(NOT_AGAINST));                                                                 /* (1), of the living */
     j = 0;
     do
     :: j < 4 && HAS(alive,j) && lineage[j] == k && ALL(TAKEN) ->
        assert(ALL(SAME_VIEW));                                                                /* (2) */
        assert(!STRONG || LINE(completed, k));
        completed = (STRONG && EPOCH(k) > EPOCH(completed) -> k : completed);
        j++
     :: j < 4 && !(HAS(alive,j) && lineage[j] == k && ALL(TAKEN)) -> j++
     :: else -> break
     od;
     j = 0
  :: else -> printf("rank %d is out\n", i); finish(i)
  fi
}

/* Steps of rank p, and of rank q on a message of p. */
#define EVIDENCE      (16 * dead[p] + MASK(MISSED))
#define DUE(p)        (RUNS(p) && EPOCH(lineage[p]) < EPOCHS && ANY(MISSED) && ALL(PASSED))
#define BALLOT(p,a)   (4 * (a) + p + 1)
#define START_BALLOT(p,b) forget(p); P[p].phase = 1; P[p].ballot = b; P[p].answered = BIT(p); P[p].best = accepted[p]; \
  P[p].best_members = accepted_members[p]; promised[p] = P[p].ballot; printf("rank %d begins ballot %d\n", p, P[p].ballot)

#if WORLD == 0                        /* a rank may begin a ballot at any time, and with any number of its own */
#define BEGIN(a)      d_step { DUE(p) && a < ATTEMPTS && BALLOT(p,a) > promised[p] -> START_BALLOT(p, BALLOT(p,a)) }
#define BEGINS        BEGIN(0) :: BEGIN(1) :: BEGIN(2)
#else                                 /* only with new evidence, or after a refusal */
#define BEGINS        d_step { DUE(p) && seen[p] != EVIDENCE -> seen[p] = EVIDENCE; begun[p]++; assert(begun[p] < 10); \
  START_BALLOT(p, BALLOT(p, (promised[p] + 3 - p) / 4)) }
#endif
#define REFUSE(p,q)   d_step { WORLD == 1 && RUNS(p) && RUNS(q) && P[p].phase > 0 && HAS(VIEW(p),q) && lineage[p] == lineage[q] && \
  HEARS(p,q) && !HAS((P[p].phase == 1 -> P[p].answered : P[p].votes), q) && promised[q] > P[p].ballot -> \
  promised[p] = (promised[q] > promised[p] -> promised[q] : promised[p]); seen[p] = 0; forget(p); \
  printf("rank %d refuses %d\n", q, p) }
#define CHOOSE        d_step { RUNS(p) && P[p].phase == 1 && (ALL(HEARD) || WRONG == 2) -> \
  seen[p] = (WORLD == 1 && (promised[p] == P[p].ballot || WRONG == 6) -> EVIDENCE : 0); \
  P[p].deaths = dead[p] & VIEW(p); \
  P[p].answered = P[p].answered & ~(WORLD == 1 && WRONG != 8 -> MASK(MISSED) : dead[p]); \
  if :: WRONG == 2 -> P[p].answered = VIEW(p) & ~dead[p] :: else fi; \
  P[p].members = (P[p].best > 0 && WRONG != 3 -> P[p].best_members : P[p].answered); \
  if \
  :: promised[p] == P[p].ballot && (SUFFICE(P[p].answered, P[p].deaths, VIEW(p)) || WRONG == 7) && P[p].members != VIEW(p) -> \
     P[p].phase = 2; P[p].votes = BIT(p); accepted[p] = P[p].ballot; accepted_members[p] = P[p].members; \
     P[p].best = 0; P[p].best_members = 0; \
     printf("rank %d proposes %d, answered %d\n", p, P[p].members, P[p].answered) \
  :: else -> forget(p) \
  fi }
#define DECIDE        d_step { RUNS(p) && P[p].phase == 2 && SUFFICE(P[p].votes, P[p].deaths, VIEW(p)) -> \
  printf("rank %d decides by votes %d, deaths %d\n", p, P[p].votes, P[p].deaths); \
  \
  assert(2 * COUNT(P[p].members) >= COUNT(VIEW(p)) || (VIEW(p) & alive & ~P[p].members) == 0); /* (5) */ \
  i = p; k = CHILD(lineage[p], P[p].members); install() }
#define PROMISE(p,q)  d_step { RUNS(p) && RUNS(q) && P[p].phase == 1 && !HAS(P[p].answered,q) && HAS(VIEW(p),q) && \
  lineage[p] == lineage[q] && HEARS(q,p) && HEARS(p,q) && promised[q] <= P[p].ballot -> \
  promised[q] = P[p].ballot; P[p].answered = P[p].answered | BIT(q); dead[p] = dead[p] | dead[q]; \
  if :: accepted[q] > P[p].best -> P[p].best = accepted[q]; P[p].best_members = accepted_members[q] :: else fi; \
  printf("rank %d promises %d to %d\n", q, P[p].ballot, p) }
#define ACCEPT(p,q)   d_step { RUNS(q) && P[p].phase == 2 && HAS(P[p].answered,q) && !HAS(P[p].votes,q) && \
  lineage[p] == lineage[q] && HEARS(q,p) && promised[q] <= P[p].ballot && accepted[q] < P[p].ballot -> \
  promised[q] = P[p].ballot; accepted[q] = P[p].ballot; accepted_members[q] = P[p].members; \
  dead[q] = dead[q] | P[p].deaths; P[p].votes = (HAS(alive,p) -> P[p].votes | BIT(q) : 0); \
  printf("rank %d accepts %d of %d\n", q, P[p].members, p) }
#define TELL(p,q,e)   d_step { RUNS(q) && HEARS(q,p) && HAS(installed[p],e) && e > EPOCH(lineage[q]) -> \
  printf("from %d: ", p); i = q; k = UP_TO(lineage[p], e); install() }
#define PASS_ON(p,q)  d_step { RUNS(q) && HEARS(q,p) && (dead[p] & ~dead[q]) != 0 -> \
  dead[q] = dead[q] | dead[p]; \
  printf("rank %d tells %d of deaths %d\n", p, q, dead[p]) }
#define NOTICE(p,q)   d_step { RUNS(p) && HAS(START & ~alive,q) && !HAS(dead[p],q) && WITNESS(p,q) -> \
  dead[p] = dead[p] | BIT(q); \
  printf("rank %d notices the death of %d\n", p, q) }
#define CRASH(p)      d_step { crashes > 0 && HAS(alive,p) -> crashes--; printf("CRASH %d\n", p); finish(p) }

#define STOP(p)       d_step { stops > 0 && RUNS(p) -> stops--; stopped = stopped | BIT(p); printf("STOP %d\n", p) }
#define CONTINUE(p)   d_step { !LASTING && HAS(stopped,p) -> stopped = stopped & ~BIT(p); printf("CONTINUE %d\n", p) }
#define BESIDE(m)     (RUNS(m) && HOST(m) == HOST(p))
#define EVICT(p)      d_step { HAS(stopped,p) && ANY(BESIDE) -> printf("EVICT %d\n", p); finish(p) }
#define PART(hosts)   d_step { cuts > 0 && cut == 0 -> cuts--; cut = hosts; printf("CUT %d\n", hosts) }
#define HEAL          d_step { !LASTING && cut != 0 -> cut = 0; printf("HEAL\n") }

proctype rank(byte p) {
end: do
  :: BEGINS
  :: CHOOSE
  :: DECIDE
  :: CRASH(p)
#if WORLD == 1
  :: STOP(p) :: CONTINUE(p) :: EVICT(p)
#endif
  od
}
proctype link(byte p; byte q) {       /* messages of p to q, and the answers */
end: do
  :: PROMISE(p,q)
  :: REFUSE(p,q)
  :: ACCEPT(p,q)
  :: TELL(p,q,1) :: TELL(p,q,2) :: TELL(p,q,3)
  :: PASS_ON(p,q)
  :: NOTICE(p,q)
  od
}
#define REACHED(m)    (RUNS(m) && !CUT(p,m))
#define AT_ONE(m)     (!REACHED(m) || lineage[m] == lineage[p])
init {
  byte p, reached;
  atomic {
    run rank(0); run rank(1); run rank(2);
    run link(0,1); run link(0,2); run link(1,0); run link(1,2); run link(2,0); run link(2,1);
#if START == 15
    run rank(3); run link(0,3); run link(1,3); run link(2,3); run link(3,0); run link(3,1); run link(3,2)
#endif
  }
#if WORLD == 1
end: do
  :: PART(1) :: PART(2) :: PART(4) :: HEAL
  :: timeout -> d_step {              /* (4) */
       do
       :: p < 4 && RUNS(p) ->
          reached = MASK(REACHED);
          assert(ALL(AT_ONE));
          assert(EPOCH(lineage[p]) == EPOCHS || (VIEW(p) & ~reached) == 0 || !SUFFICE(VIEW(p) & reached, dead[p], VIEW(p)));
          p++
       :: p < 4 && !RUNS(p) -> p++
       :: else -> break
       od }; break
  od
#endif
}
