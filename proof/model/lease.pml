/* Leases of one message of a Celery queue, as Redis keeps them.

   Three consumers claim it, end it, and end it long after their lease; leases run out; the message is published again under
   its id; and Redis goes back to an earlier state, as after a failover, while consumers remember what they hold. The
   message counts among those that may run at once, or it does not. Each atomic block is one script.

   -DCOUNTED_TOKENS: tokens come from a counter of Redis alone, not from its clock: they go back with it.
   -DFREE_AT_LATE_END: a late end beside another's lease ends the message at once, instead of marking it as done.
   -DREPLAY: claims that find nothing are few, so that a trace has more of the others.                                 */

mtype = { claims, ends_it, publishes, time_passes, saves, goes_back };

#define CONSUMERS 3
#define TOKENS 4

#ifdef REPLAY
byte asks = 6;
#define MAY_CLAIM (asks > 0 || redis.stored && (redis.holder == 0 || redis.over))
#define IN_VAIN asks = (asks -> asks - 1 : 0)
#else
#define MAY_CLAIM true
#define IN_VAIN skip
#endif
#ifdef COUNTED_TOKENS
#define NEXT_TOKEN (redis.counter + 1)
#else
#define NEXT_TOKEN (clock + 1)
#endif
#ifdef FREE_AT_LATE_END
#define MARKS false
#else
#define MARKS true
#endif

typedef Kept {
  bool stored;
  byte holder;          /* the token of the lease; 0: none */
  bool over;            /* it has run out, and no claim has noticed yet */
  byte lost;            /* the first token of the message whose lease ran out; 0: none */
  byte done_with;       /* done, and gone when the lease of this token ends; 0: not so */
  byte counter;         /* tokens so far, as Redis counts them */
  byte owner;           /* of the properties: the consumer who was given the lease; 0: none */
  bool valid;           /* of the properties: that lease has neither run out nor been ended */
  bool finished         /* of the properties: somebody has done the work, and said so in time to be believed */
};

Kept redis;
Kept saved;
bool has_saved = false;
bool counts;            /* whether the message counts among those that may run at once */
byte clock = 0;         /* tokens that were ever drawn: what a clock knows and a counter may forget */
byte mine[4];           /* by consumer, from 1: the token that it remembers */

byte passes = 2, publications = 1, roll_backs = 1, silences = 2;

bool two_at_once = false, freed_under_another = false, ended_another = false, given_again = false;

#define PLACE (redis.holder -> 2 : (redis.stored -> 1 : 0))
#define IN_FLIGHT (counts && redis.holder)
#define TELL(what, who, answer) \
  printf("@ %e %d %d %d %d %d\n", what, who, answer, PLACE, IN_FLIGHT, counts && redis.done_with && redis.done_with == redis.holder)

inline copy(from, to) {
  to.stored = from.stored; to.holder = from.holder; to.over = from.over; to.lost = from.lost;
  to.done_with = from.done_with; to.counter = from.counter; to.owner = from.owner; to.valid = from.valid;
  to.finished = from.finished
}

inline forget() {
  redis.stored = false; redis.holder = 0; redis.over = false; redis.lost = 0; redis.done_with = 0; redis.owner = 0;
  redis.valid = false
}

/* What each claim does first: a lease that ran out ends, and a message that is done is gone with it. */
inline reap() {
  if
  :: redis.holder && redis.over && redis.done_with == redis.holder -> forget()
  :: redis.holder && redis.over && redis.done_with != redis.holder ->
     redis.lost = (redis.lost -> redis.lost : redis.holder);
     redis.holder = 0; redis.over = false; redis.owner = 0
  :: else
  fi
}

inline claim() {
  reap();
  if
  :: redis.stored && redis.holder == 0 ->
     two_at_once = two_at_once || redis.valid;
     given_again = given_again || redis.finished;
     redis.counter = NEXT_TOKEN; clock++;
     redis.holder = redis.counter; redis.owner = me; redis.valid = true; mine[me] = redis.holder;
     TELL(claims, me, mine[me])
  :: else -> IN_VAIN; TELL(claims, me, 0)
  fi
}

inline end() {
  if
  :: mine[me] == redis.holder ->
     ended_another = ended_another || redis.owner != me;
     forget(); redis.finished = true; TELL(ends_it, me, 1)
  :: mine[me] != redis.holder && redis.lost && mine[me] >= redis.lost ->
     redis.finished = true;
     if
     :: redis.holder && counts && MARKS -> redis.done_with = redis.holder; TELL(ends_it, me, 0)
     :: else ->
        freed_under_another = freed_under_another || (counts && redis.valid);
        forget(); TELL(ends_it, me, 1)
     fi
  :: else -> TELL(ends_it, me, 0)
  fi
}

proctype Consumer(byte me) {
  do
  :: atomic { mine[me] == 0 && clock < TOKENS && MAY_CLAIM -> claim() }
  :: atomic { mine[me] != 0 -> end(); mine[me] = 0 }
  :: atomic { mine[me] != 0 && silences > 0 -> silences--; end() }                /* it never hears of it */
  :: atomic { mine[me] != 0 && clock < TOKENS && MAY_CLAIM -> mine[me] = 0; claim() }          /* killed, and started again */
  :: clock >= TOKENS && mine[me] == 0 -> break
  od
}

proctype Surroundings() {
  do
  :: atomic { passes > 0 ->
       passes--; redis.over = (redis.holder != 0); saved.over = (saved.holder != 0); redis.valid = false;
       saved.valid = false; TELL(time_passes, 0, 1) }
  :: atomic { publications > 0 && !redis.stored ->
       publications--; redis.stored = true; redis.finished = false; TELL(publishes, counts, 1) }
  :: atomic { roll_backs > 0 && !has_saved -> has_saved = true; copy(redis, saved); TELL(saves, 0, 1) }
  :: atomic { roll_backs > 0 && has_saved -> roll_backs--; copy(saved, redis); TELL(goes_back, 0, 1) }
  :: clock >= TOKENS -> break
  od
}

init {
  atomic {
    if :: counts = true :: counts = false fi;
    redis.stored = true; TELL(publishes, counts, 1);
    run Consumer(1); run Consumer(2); run Consumer(3); run Surroundings()
  }
}

ltl one_at_a_time { [] !two_at_once }
ltl a_place_is_kept { [] !freed_under_another }
ltl old_tokens_end_nothing { [] !ended_another }
ltl done_is_done { [] !given_again }
