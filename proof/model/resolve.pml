/* A resolve ("the order was paid") beside claims, retries and creates of the same business key.

   Two jobs: one is pending, the other is made by a transaction that commits at any moment. Two workers claim and end them,
   and each statement has two or three steps, as on PostgreSQL: what it reads, the lock of the row, its commit. The resolve
   commits its tombstone, cancels what is pending, and names what runs. Only then is it accepted.

   -DWITHOUT_VERSION: a claim takes a row though it was changed since the statement read it.
   -DPASS_LOCKED: the resolve passes over rows that a claim has locked.
   -DREPLAY: one writer at a time, as on SQLite; the resolve comes later, so that a trace has more than the beginning.  */

mtype = { absent, pending, running, succeeded, cancelled };
mtype = { claims, succeeds, retries, commits, lays, finishes };

#define JOBS 2
#define CLAIMS 3

mtype row[JOBS];
byte version[JOBS];
bool locked[JOBS];
byte claimed = 0;
bool tombstone = false, accepted = false, fires_after = false;

#define TELL(what, who, answer) printf("@ %e %d %d %e %e\n", what, who, answer, row[0], row[1])

#ifdef WITHOUT_VERSION
#define IS_AS_READ true
#else
#define IS_AS_READ (version[job] == saw_version)
#endif
#ifdef REPLAY
#define STATEMENT atomic
#else
#define STATEMENT
#endif

#ifdef REPLAY
byte asks = 6;
#define MAY_CLAIM (row[0] == pending || row[1] == pending || asks > 0)
#define IN_VAIN asks = (asks -> asks - 1 : 0)
#define IDLE(most) select(idle : 0 .. most); do :: idle > 0 -> idle-- :: else -> break od;
#else
#define MAY_CLAIM true
#define IN_VAIN skip
#define IDLE(most)
#endif

/* A claim: reads tombstones and rows, locks the row if nothing has changed it since, and commits. */
inline claim() {
  STATEMENT {
    atomic { saw_tombstone = tombstone; saw = row[job]; saw_version = version[job] };
    atomic {
      if
      :: saw == pending && row[job] == pending && !locked[job] && IS_AS_READ -> locked[job] = true; took = true
      :: else -> took = false
      fi
    };
    atomic {
      if
      :: took && saw_tombstone -> row[job] = cancelled; version[job]++; locked[job] = false; took = false; TELL(claims, job, 0)
      :: took && !saw_tombstone ->
         row[job] = running; version[job]++; locked[job] = false; claimed++;
         fires_after = fires_after || accepted; TELL(claims, job, 1)
      :: else -> IN_VAIN; TELL(claims, job, 0)
      fi
    }
  }
}

/* An attempt failed: the statement looks for a tombstone when it begins, and locks the row later. */
inline retry() {
  STATEMENT {
    atomic { saw_tombstone = tombstone };
    atomic { !locked[job] -> locked[job] = true };
    atomic { row[job] = (saw_tombstone -> cancelled : pending); version[job]++; locked[job] = false; TELL(retries, job, 1) }
  }
}

proctype Worker() {
  bool saw_tombstone, took;
  mtype saw;
  byte saw_version, job;
  do
  :: claimed < CLAIMS && MAY_CLAIM ->
     if :: job = 0 :: job = 1 fi;
     claim();
     if
     :: took && row[job] == running ->
        if
        :: retry()
        :: atomic { !locked[job] -> row[job] = succeeded; version[job]++; TELL(succeeds, job, 1) }
        fi
     :: else
     fi;
     took = false
  :: claimed >= CLAIMS || accepted && row[0] != pending && row[1] != pending && row[1] != absent -> break
  od
}

proctype Creator() {
  byte idle;
  IDLE(30)
  atomic { row[1] == absent -> row[1] = pending; TELL(commits, 1, 1) }
}

proctype Resolve() {
  bool saw_pending[JOBS];
  byte job, ended, named, idle;
  IDLE(50)
  atomic { tombstone = true; TELL(lays, 0, 1) };
  IDLE(20)
  STATEMENT {
    do
    :: atomic { saw_pending[0] = (row[0] == pending); saw_pending[1] = (row[1] == pending) };
       if
       :: !saw_pending[0] && !saw_pending[1] -> break
       :: else
       fi;
       job = 0;
       do
       :: job < JOBS ->
          if
          :: saw_pending[job] ->
#ifdef PASS_LOCKED
             if
             :: atomic { !locked[job] && row[job] == pending -> row[job] = cancelled; version[job]++; ended++ }
             :: atomic { locked[job] || row[job] != pending -> skip }
             fi
#else
             atomic {
               !locked[job] ->
               if
               :: row[job] == pending -> row[job] = cancelled; version[job]++; ended++
               :: else
               fi
             }
#endif
          :: else
          fi;
          job++
       :: else -> break
       od;
#ifdef PASS_LOCKED
       break
#endif
    od;
    atomic { named = (row[0] == running) + (row[1] == running) };
    atomic { accepted = true; TELL(finishes, 0, 10 * named + ended) }
  }
}

init { atomic { row[0] = pending; row[1] = absent; run Worker(); run Worker(); run Creator(); run Resolve() } }

ltl nothing_fires_after_a_resolve { [] !fires_after }
