"""Operations in the admin: plan, run, result, and the history."""
