/* How one job is handed over between its timer in Redis and its row in the database.

   Two workers, a caller who cancels, and what goes on beside them: the loader, leases of row and timer that run out, a
   Redis that loses all it has, and kill -9 of a worker after each of its steps. The row decides, the timer is a hint.
   Each atomic block is one statement or one script of the code; anything may happen between two of them.

   -DWINDOW: the check of the lease and the first byte are two steps, as they are for a process that is stopped in between.
   -DREPLAY: workers also ask where there is nothing, so that a trace has refusals in it; faults and the caller come later,
   so that it has more than the beginning.                                                                            */

mtype = { pending, running, succeeded, cancelled };                                  /* of the row */
mtype = { no_timer, waits, leased };                                            /* of the timer */
mtype = { claims_timer, claims_row, acknowledges, checks_lease, succeeds, retries, arms, dies,
          cancels, forgets_timer, row_lease_ends, timer_lease_ends, returns_lost, loads, loses_all };

#define RUNS 3                          /* attempts after which no other is wanted */

#ifdef REPLAY
#define MOST_ENDS 4
#else
#define MOST_ENDS 2
#endif

mtype row = pending;
byte lease = 0;                         /* the token of the row's lease */
bool lease_over = false;                /* it has run out by the clock, and nobody has noticed yet */
byte drawn = 0;                         /* tokens so far */
mtype timer = waits;
byte timer_holder = 0;                  /* the worker that leases the timer */
bool timer_over = false;                /* that lease has run out; the next claim takes the timer back */

byte kills = 1, losses = 1, ends = MOST_ENDS;   /* faults that a history has at most */

/* What the properties ask. */
bool confirmed = false;                 /* the caller was told that the job is cancelled */
bool called = false;                    /* the receiver was called */
bool called_after_cancel = false;

#define ENDED (row == succeeded || row == cancelled)
#define CLAIMABLE (timer == waits || timer == leased && timer_over)
#define TELL(what, who, answer) printf("@ %e %d %d %e %e\n", what, who, answer, row, timer)

#ifdef REPLAY
#define MOSTLY :: skip :: skip :: skip :: skip
byte asks = 4;
#define IDLE(most) select(idle : 0 .. most); do :: idle > 0 -> idle-- :: else -> break od;
#else
#define MOSTLY
#define IDLE(most)
#endif

inline may_die() {
  if
  :: atomic { kills > 0 -> kills--; TELL(dies, me, 1) }; goto gone
  :: skip
  MOSTLY
  fi
}

inline put_timer() { timer = waits; timer_holder = 0; timer_over = false }      /* a lease on it ends */
inline ensure_timer() { if :: timer == no_timer -> timer = waits :: else fi }   /* a lease on it stays */
inline call() { called = true; called_after_cancel = called_after_cancel || confirmed }

proctype Worker(byte me) {
  byte mine, idle;
  do
  :: atomic { CLAIMABLE -> timer = leased; timer_holder = me; timer_over = false; TELL(claims_timer, me, 1) };
     mine = 0;
     may_die();
     atomic {
       if
       :: row == pending ->
          drawn++; mine = drawn; lease = mine; row = running; lease_over = false; TELL(claims_row, me, 1)
       :: else -> TELL(claims_row, me, 0)
       fi
     };
     may_die();
     atomic {
       if
       :: timer == leased && timer_holder == me ->
          timer = no_timer; timer_holder = 0; timer_over = false; TELL(acknowledges, me, 1)
       :: else -> TELL(acknowledges, me, 0)
       fi
     };
     if
     :: mine == 0 -> goto next
     :: else
     fi;
     atomic {
       if
       :: row == running && lease == mine && !lease_over ->
          TELL(checks_lease, me, 1);
#ifndef WINDOW
          call()
#endif
       :: else -> TELL(checks_lease, me, 0); goto next
       fi
     };
#ifdef WINDOW
     atomic { call() };
#endif
     may_die();
     IDLE(90)
     if
     :: skip;
        atomic {
          if
          :: row == running && lease == mine -> row = succeeded; lease = 0; TELL(succeeds, me, 1)
          :: else -> TELL(succeeds, me, 0)
          fi
        }
     :: drawn < RUNS;
        atomic {
          if
          :: row == running && lease == mine ->
             row = pending; lease = 0; TELL(retries, me, 1)
          :: else -> TELL(retries, me, 0); goto next
          fi
        };
        may_die();
        atomic {       /* a job that another worker has taken meanwhile gets a timer too: it fires without effect */
          put_timer(); TELL(arms, me, 1)
        }
     fi;
next: skip
#ifdef REPLAY
  :: atomic { !CLAIMABLE && asks > 0 -> asks--; TELL(claims_timer, me, 0) }
#endif
  :: ENDED -> break
  od;
gone: skip
}

active proctype Surroundings() {
  byte idle;
  do
  :: atomic { row == running && !lease_over && ends > 0 -> ends--; lease_over = true; TELL(row_lease_ends, 0, 1) };
     IDLE(4)
  :: atomic { row == running && lease_over -> row = pending; lease = 0; TELL(returns_lost, 0, 1) };
     if
     :: atomic { ensure_timer(); TELL(loads, 0, 1) }
     :: skip                                      /* the loader dies before it sets the timer */
     fi
  :: atomic { timer == leased && !timer_over && ends > 0 -> ends--; timer_over = true; TELL(timer_lease_ends, 0, 1) };
     IDLE(4)
  :: atomic { losses > 0 -> losses--; timer = no_timer; timer_holder = 0; timer_over = false; TELL(loses_all, 0, 1) }
  :: atomic { row == pending && timer == no_timer -> timer = waits; TELL(loads, 0, 1) }
  :: ENDED -> break
  od
}

active proctype Caller() {
  byte idle;
  IDLE(250)
  atomic {
    if
    :: row == pending -> row = cancelled; lease = 0; confirmed = true; TELL(cancels, 0, 1)
    :: row == running || row == succeeded -> TELL(cancels, 0, 0); goto refused
    fi
  };
  if
  :: atomic { timer = no_timer; timer_holder = 0; timer_over = false; TELL(forgets_timer, 0, 1) }
  :: skip                                         /* Redis does not answer: the timer fires without effect */
  fi;
refused: skip
}

init { atomic { run Worker(1); run Worker(2) } }

ltl nothing_after_cancel { [] !called_after_cancel }
ltl cancelled_stays { [] (confirmed -> [] (row == cancelled)) }
ltl called_if_done { [] (row == succeeded -> called) }
